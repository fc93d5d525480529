// A goroutine holds a lock that belongs to its thread during a call that parks. The runtime reports what keeps the
// goroutine from continuing, and the remedy.
#include "posix/both_ways.h"
#include "posix/words_of_child.h"

#include <mutex>
#include <shared_mutex>
#include <string>

namespace thrum::test {
namespace {

using namespace std::chrono_literals;

int never_initialised() { park_for_ever(); }

int value_of_static() {
  static int const value = never_initialised();
  return value;
}

[[noreturn]] void two_want(void (*locks)()) {
  go(locks);
  go(locks);
  for (;;) thrum::sleep_for(1h);
}

TEST(stuck_at_home, a_static_variable_whose_initialiser_parks_is_reported) {
  if (rt::with_tsan) GTEST_SKIP() << "TSan lets no child make threads";
  std::string const text = words_of_child([] { two_want([] { value_of_static(); }); });
  EXPECT_NE(text.find("function-local static that is being initialised"), std::string::npos) << text;
}

TEST(stuck_at_home, call_once_whose_function_parks_is_reported) {
  if (rt::with_tsan) GTEST_SKIP() << "TSan lets no child make threads";
  static std::once_flag flag;
  std::string const text = words_of_child([] { two_want([] { std::call_once(flag, park_for_ever); }); });
  EXPECT_NE(text.find("std::call_once (use thrum::once)"), std::string::npos) << text;
}

TEST(stuck_at_home, a_shared_mutex_that_is_held_over_a_call_names_the_remedy) {
  if (rt::with_tsan) GTEST_SKIP() << "TSan lets no child make threads";
  static std::shared_mutex mutex;
  std::string const text = words_of_child([] {
    two_want([] {
      std::unique_lock const guard(mutex);
      park_for_ever();
    });
  });
  EXPECT_NE(text.find("use thrum::shared_mutex"), std::string::npos) << text;
}

}  // namespace
}  // namespace thrum::test
