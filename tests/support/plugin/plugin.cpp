// A library that tests load at run time. See support/plugin.h.
#include <cstdlib>

#include <unistd.h>

#define PLUGIN_EXPORT extern "C" __attribute__((visibility("default")))

PLUGIN_EXPORT int plugin_data;
int plugin_data = 1;

// Sleeps in the kernel until a byte can be read.
PLUGIN_EXPORT int plugin_reads_a_byte(int descriptor) {
  char byte = 0;
  bool const got = ::read(descriptor, &byte, 1) == 1;
  asm volatile("" ::: "memory");  // prevents a tail call, so that the read returns to this function
  return got ? plugin_data : 0;
}

// While the loader loads this library, it calls a function of the test, whose address is in the environment.
__attribute__((constructor)) static void calls_back() {
  char const* const address = std::getenv("THRUM_TEST_PLUGIN_CALLS");
  if (address != nullptr) reinterpret_cast<void (*)()>(std::strtoull(address, nullptr, 10))();
}
