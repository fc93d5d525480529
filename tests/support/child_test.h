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
    constexpr unsigned seconds = rt::with_asan || rt::with_tsan ? 100 : 30;
    if (testing::internal::InDeathTestChild()) ::alarm(seconds);
  }
};

}  // namespace thrum::test
