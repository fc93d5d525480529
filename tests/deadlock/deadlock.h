// What the tests of deadlocks share: the report, a goroutine that waits for ever, and child processes in which no
// thread of the test silences the report.
#pragma once

#include "support/child_test.h"
#include <thrum/wait_group.h>

#include <gtest/gtest.h>

// Matches the first line of the report, and whatever stands between it and what follows in the expression.
#define DEADLOCK "fatal error: all goroutines are asleep - deadlock!\n(.*\n)*"

namespace thrum::test {

class deadlock_test : public child_test {
 protected:
  void SetUp() override { THRUM_SKIP_IF_DEADLOCKS_ARE_NOT_SEEN(); }
};

inline void wait_for_ever() {
  wait_group never;
  never.add(1);
  never.wait();
}

}  // namespace thrum::test
