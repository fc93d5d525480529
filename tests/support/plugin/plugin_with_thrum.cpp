// A library that has thrum inside, and that a test loads at run time. With PLUGIN_HAS_POSIX it has thrum::posix_locks
// inside as well. See os/plugin_with_thrum_test.cpp.
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

#ifdef PLUGIN_HAS_POSIX
extern "C" char const* const thrum_posix_calls[];
extern "C" char const* const thrum_posix_locks_calls[];
#endif

// Where thrum is: in this library, or in libraries of its own. Ends with a null pointer.
PLUGIN_EXPORT void const* const* plugin_addresses_in_thrum() {
  static void const* const all[] = {
      reinterpret_cast<void const*>(&thrum::yield),
#ifdef PLUGIN_HAS_POSIX
      thrum_posix_calls,
      thrum_posix_locks_calls,
#endif
      nullptr,
  };
  return all;
}
