// A fatal_test whose child process cannot outlive its test: if it hangs, an alarm ends it.
#pragma once

#include "base/platform.h"
#include "support/fatal.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace thrum::test {

class child_test : public fatal_test {
 protected:
  child_test() {
    constexpr unsigned seconds = rt::with_asan || rt::with_tsan ? 100 : 30;
    if (testing::internal::InDeathTestChild()) ::alarm(seconds);
  }
};

}  // namespace thrum::test

// ThreadSanitizer's own thread comes with the first thread that the program makes: too late for the parent to see it.
#define THRUM_NEEDS_DEADLOCK_REPORTS()                                                            \
  if (::thrum::rt::with_tsan) GTEST_SKIP() << "TSan's thread silences the deadlock report (T13)"; \
  THRUM_SKIP_IF_DEADLOCKS_ARE_NOT_SEEN()
