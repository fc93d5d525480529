// A library that has thrum inside, and that a test loads at run time. See os/plugin_with_thrum_test.cpp.
#include <thrum/thrum.h>

#define PLUGIN_EXPORT extern "C" __attribute__((visibility("default")))

// A goroutine that waits for ever stays behind on a thread of its own.
PLUGIN_EXPORT int plugin_runs_goroutines(int number) {
  int result = 0;
  thrum::run([&] {
    thrum::go([] {
      thrum::os_thread_lock const here;
      static_cast<void>(thrum::chan<int>().recv());
    });
    result = thrum::spawn([=] { return number + 1; }).join();
  });
  return result;
}

// Where thrum is: in this library, or in a library of its own.
PLUGIN_EXPORT void const* plugin_address_in_thrum() { return reinterpret_cast<void const*>(&thrum::yield); }
