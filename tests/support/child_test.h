// A fatal_test whose child process cannot outlive its test, because an alarm ends it if it hangs.
#pragma once

#include "base/platform.h"
#include "support/fatal.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace thrum::test {

class child_test : public fatal_test {
 protected:
  child_test() {
    // Less than the time limits of ctest. A report takes 0.1 s of CPU time, so on a busy machine a child that has a low
    // priority was seen to take more than 30 s.
    constexpr unsigned seconds = rt::with_asan || rt::with_tsan ? 300 : 100;
    if (testing::internal::InDeathTestChild()) ::alarm(seconds);
  }
};

}  // namespace thrum::test
