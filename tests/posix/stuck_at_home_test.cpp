// A goroutine holds a lock that belongs to its thread during a call that parks. The runtime reports what keeps the
// goroutine from continuing, and the remedy.
#include "posix/both_ways.h"
#include "support/slices.h"

#include <mutex>
#include <shared_mutex>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

namespace thrum::test {
namespace {

using namespace std::chrono_literals;

// Runs `body` in a child process with one P, as a goroutine beside others, until the child has ended or has written
// nothing for long. Returns what it wrote to standard error.
template <class F>
std::string words_of_child(F body) {
  with_slices_of const slices(10ms);
  int ends[2];
  if (::pipe(ends) != 0) return "no pipe";
  pid_t const child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], 2);
    ::close(ends[0]);
    ::close(ends[1]);
    ::alarm(20);  // it hangs, which is what it reports
    thrum::run(body, {.max_procs = 1});
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string text;
  char some[1000];
  for (long n = 0; (n = ::read(ends[0], some, sizeof some)) > 0;) {
    text.append(some, static_cast<std::size_t>(n));
    if (text.find("SIGQUIT") != std::string::npos) ::kill(child, SIGKILL);
  }
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  return text;
}

// Parks over and over. So the goroutine waits for its thread when another one blocks the thread, however late that is.
[[noreturn]] void park_for_ever() {
  for (;;) ::usleep(10'000);
}

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
