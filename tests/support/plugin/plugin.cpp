// A library that tests load while they run: see support/plugin.h.
#include <unistd.h>

#define PLUGIN_EXPORT extern "C" __attribute__((visibility("default")))

PLUGIN_EXPORT int plugin_data;
int plugin_data = 1;

// Sleeps in the kernel until there is a byte.
PLUGIN_EXPORT int plugin_reads_a_byte(int descriptor) {
  char byte = 0;
  bool const got = ::read(descriptor, &byte, 1) == 1;
  asm volatile("" ::: "memory");  // it comes back to this function
  return got ? plugin_data : 0;
}
