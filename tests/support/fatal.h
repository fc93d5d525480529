// Tests of errors that end the program. The test body runs in a child process that is started with exec. So the child
// has no thread of the parent and no watchdog, which would silence the deadlock report. The test checks its exit code
// and its last message.
//
//   class overflow : public fatal_test {};
//   TEST_F(overflow, S29_...) { EXPECT_FATAL(thrum::run([] { recurse(); }), "stack overflow"); }
#pragma once

#include "base/platform.h"
#include "support/watchdog.h"

#include <string>

#include <gtest/gtest.h>

namespace thrum::test {

class fatal_test : public testing::Test {
 protected:
  fatal_test() : style_(GTEST_FLAG_GET(death_test_style)) { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
  ~fatal_test() override { GTEST_FLAG_SET(death_test_style, style_); }

 private:
  std::string style_;
};

}  // namespace thrum::test

// The statement ends the program with exit code 2, and standard error matches the (POSIX extended) expression.
#define EXPECT_FATAL(statement, expression) EXPECT_EXIT(statement, testing::ExitedWithCode(2), expression)

// Skips the test if the process has threads of a sanitizer or an emulator. The scheduler cannot know that such a thread
// never calls `go`, so it reports no deadlock (T13). The thread of ThreadSanitizer starts together with the program's
// first thread, which is too late to be counted here.
#define THRUM_SKIP_IF_DEADLOCKS_ARE_NOT_SEEN()                        \
  if (::thrum::rt::with_tsan || ::thrum::test::unknown_threads() > 0) \
  GTEST_SKIP() << "a thread that is not thrum's silences the deadlock report (T13)"
