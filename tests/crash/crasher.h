// Goroutines that crash, and the report that is expected of them.
#pragma once

#include "base/platform.h"
#include "debug/symbols.h"
#include <thrum/thrum.h>

#include <string>

#include <gtest/gtest.h>

// A sanitizer has handlers of its own for faults, which thrum leaves alone as it does any other.
#define THRUM_SKIP_WITH_SANITIZERS() \
  if (rt::with_asan || rt::with_tsan) GTEST_SKIP() << "the sanitizer has a handler of its own, and reports the fault"

namespace thrum::test {

// On a goroutine that has a name and was made by main.
inline void run_named(void (*f)()) {
  thrum::run(
      [f] {
        wait_group ended;
        ended.go([f] {
          this_goroutine::set_name("crasher");
          f();
        });
        ended.wait();
      },
      {.max_procs = 2});
}

// The expected report: what happened, the goroutine, the function that did it (if names are available), and the
// function that created the goroutine.
inline std::string report_of(std::string const& what, std::string const& function) {
  std::string expected = what + ".*\n(.*\n)*goroutine [0-9]+ \\[running\\] crasher\n";
  if (rt::symbols().reads_files()) expected += "(.*\n)*.*" + function;
  return expected + ".*\n(.*\n)*created by goroutine 1\n";
}

[[gnu::noinline]] inline void writes_to_nowhere() {
  auto* volatile const nowhere = reinterpret_cast<int volatile*>(64);
  *nowhere = 1;
}

[[gnu::noinline]] inline void is_no_instruction() {
#if defined(__x86_64__)
  asm volatile("ud2");
#else
  asm volatile(".inst 0");
#endif
}

}  // namespace thrum::test
