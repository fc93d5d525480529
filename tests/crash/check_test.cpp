#include "base/check.h"

#include "support/fatal.h"

#include <csignal>
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

namespace thrum::rt {
namespace {

class last_words : public test::fatal_test {};

TEST_F(last_words, fatal_says_who_speaks_and_exits_with_2) {
  EXPECT_FATAL(fatal("seven is %d", 7), "^thrum: seven is 7\n$");
}

TEST_F(last_words, print_error_writes_the_line_as_it_is) {
  EXPECT_FATAL(
      {
        print_error("goroutine %d [%s]", 1, "running");
        die();
      },
      "^goroutine 1 \\[running\\]\n$");
}

TEST_F(last_words, a_failed_check_names_the_condition_and_the_place) {
  EXPECT_FATAL(THRUM_CHECK(1 + 1 == 3), "internal error: 1 \\+ 1 == 3 does not hold at .*check_test.cpp:[0-9]+");
}

TEST_F(last_words, a_check_that_holds_says_nothing) {
  THRUM_CHECK(1 + 1 == 2);
  EXPECT_EXIT(
      {
        THRUM_CHECK(1 + 1 == 2);
        std::_Exit(0);
      },
      testing::ExitedWithCode(0), "^$");
}

TEST_F(last_words, an_overlong_message_is_cut_and_still_ends_its_line) {
  std::string const text(5000, 'x');
  EXPECT_FATAL(fatal("%s", text.c_str()), "^thrum: x{900,1100}\n$");
}

TEST_F(last_words, crash_asks_for_a_core_file_instead_of_exit_2) {
  EXPECT_EXIT(
      {
        set_crash_on_fatal(true);
        fatal("over");
      },
      testing::KilledBySignal(SIGABRT), "thrum: over");
}

TEST_F(last_words, debug_checks_are_checked_in_debug_builds_only) {
  if (debug_checks) {
    EXPECT_FATAL(THRUM_DCHECK(1 + 1 == 3), "1 \\+ 1 == 3 does not hold");
  } else {
    THRUM_DCHECK(1 + 1 == 3);
  }
}

}  // namespace
}  // namespace thrum::rt
