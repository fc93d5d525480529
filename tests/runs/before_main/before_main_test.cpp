// A run in a constructor: those of the library may not have been called yet.
#include "base/platform.h"
#include "support/child.h"
#include "support/fatal.h"
#include <thrum/thrum.h>

#include <cstdlib>

#include <gtest/gtest.h>
#include <unistd.h>

namespace thrum::test {
namespace {

// What is called between blocking() and its end goes out of the runtime by the hooks that boot fills.
bool const has_run = [] {
  bool has_yielded = false;
  run([&] {
    blocking([&] {
      yield();
      has_yielded = true;
    });
  });
  return has_yielded;
}();

TEST(before_main, S05_a_run_in_a_constructor) { EXPECT_TRUE(has_run); }

// Only in the child of the test below, which never comes to its main.
[[maybe_unused]] bool const waits_for_ever = [] {
  constexpr unsigned patience_seconds = rt::with_asan ? 100 : 30;
  if (std::getenv("THRUM_TEST_WAITS_BEFORE_MAIN") == nullptr) return false;
  ::alarm(patience_seconds);
  run([] { static_cast<void>(chan<int>().recv()); });
  return true;
}();

TEST(before_main, DL01_a_deadlock_in_a_constructor) {
  THRUM_SKIP_IF_DEADLOCKS_ARE_NOT_SEEN();
  outcome const seen =
      run_program(this_program(), {.arguments = "--gtest_list_tests", .environment = "THRUM_TEST_WAITS_BEFORE_MAIN=1"});
  EXPECT_EQ(seen.code, 2) << seen.text;
  EXPECT_NE(seen.text.find("fatal error: all goroutines are asleep - deadlock!\n"), std::string::npos) << seen.text;
  EXPECT_NE(seen.text.find("goroutine 1 [waiting: chan receive]"), std::string::npos) << seen.text;
  EXPECT_EQ(seen.text.find("S05_a_run_in_a_constructor"), std::string::npos) << "main was reached\n" << seen.text;
}

}  // namespace
}  // namespace thrum::test
