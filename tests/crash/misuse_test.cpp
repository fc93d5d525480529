// Fatal misuse of a primitive by a goroutine: the report names the goroutine and shows its stack.
#include "crash/crasher.h"
#include "support/child_test.h"
#include <thrum/thrum.h>

#include <mutex>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace thrum::test {
namespace {

using testing::ExitedWithCode;

class misuse_reports : public child_test {};

// Each function has something to do after its mistake, so that no call is a tail call and its frame stays.
[[gnu::noinline]] void unlocks_what_is_not_locked() {
  mutex guard;
  guard.unlock();
  asm volatile("");
}

[[gnu::noinline]] void unlocks_for_writing_what_is_locked_for_reading() {
  shared_mutex guard;
  guard.lock_shared();
  guard.unlock();
  asm volatile("");
}

[[gnu::noinline]] void unlocks_for_reading_what_is_locked_for_writing() {
  shared_mutex guard;
  guard.lock();
  guard.unlock_shared();
  asm volatile("");
}

[[gnu::noinline]] void waits_without_the_mutex() {
  mutex guard;
  condition_variable changed;
  std::unique_lock<mutex> not_locked(guard, std::defer_lock);
  changed.wait(not_locked);
  asm volatile("");
}

[[gnu::noinline]] void releases_too_many_permits() {
  semaphore permits(1);
  permits.release(semaphore::max());
  asm volatile("");
}

[[gnu::noinline]] void counts_down_too_far() {
  latch done(1);
  done.count_down(2);
  asm volatile("");
}

[[gnu::noinline]] void arrives_too_often() {
  barrier<> all(1);
  static_cast<void>(all.arrive(2));
  asm volatile("");
}

TEST_F(misuse_reports, a_fatal_misuse_names_the_goroutine_and_its_stack) {
  EXPECT_FATAL(run_named(unlocks_what_is_not_locked),
               report_of("^thrum: fatal error: goroutine [0-9]+: mutex::unlock: the mutex is not locked",
                         "unlocks_what_is_not_locked"));
  EXPECT_FATAL(
      run_named(unlocks_for_writing_what_is_locked_for_reading),
      report_of("^thrum: fatal error: goroutine [0-9]+: shared_mutex::unlock: the shared_mutex is locked for reading",
                "unlocks_for_writing_what_is_locked_for_reading"));
  EXPECT_FATAL(
      run_named(unlocks_for_reading_what_is_locked_for_writing),
      report_of(
          "^thrum: fatal error: goroutine [0-9]+: shared_mutex::unlock_shared: the shared_mutex is locked for writing",
          "unlocks_for_reading_what_is_locked_for_writing"));
  EXPECT_FATAL(
      run_named(waits_without_the_mutex),
      report_of("^thrum: fatal error: goroutine [0-9]+: condition_variable::wait: the caller does not hold the mutex",
                "waits_without_the_mutex"));
  EXPECT_FATAL(run_named(releases_too_many_permits),
               report_of("^thrum: fatal error: goroutine [0-9]+: semaphore::release: [0-9]+ permits are too many",
                         "releases_too_many_permits"));
  EXPECT_FATAL(
      run_named(counts_down_too_far),
      report_of("^thrum: fatal error: goroutine [0-9]+: latch::count_down\\(2\\): the argument is out of range",
                "counts_down_too_far"));
  EXPECT_FATAL(run_named(arrives_too_often),
               report_of("^thrum: fatal error: goroutine [0-9]+: barrier::arrive\\(2\\): the argument is out of range",
                         "arrives_too_often"));
}

TEST_F(misuse_reports, in_an_announced_call_it_is_the_same) {
  EXPECT_FATAL(run_named([] { blocking([] { unlocks_what_is_not_locked(); }); }),
               report_of("^thrum: fatal error: goroutine [0-9]+: mutex::unlock: the mutex is not locked",
                         "unlocks_what_is_not_locked"));
}

TEST_F(misuse_reports, the_main_goroutine_is_named_as_well) {
  EXPECT_FATAL(thrum::run([] { unlocks_what_is_not_locked(); }),
               "^thrum: fatal error: goroutine 1: mutex::unlock: the mutex is not locked\ngoroutine 1 \\[running\\]\n");
}

TEST_F(misuse_reports, on_a_thread_that_runs_no_goroutine_only_the_message_is_printed) {
  EXPECT_FATAL(unlocks_what_is_not_locked(), "^thrum: fatal error: mutex::unlock: the mutex is not locked\n$");
  EXPECT_FATAL(thrum::run([] { blocking([] { std::thread(unlocks_what_is_not_locked).join(); }); }),
               "^thrum: fatal error: mutex::unlock: the mutex is not locked\n$");
}

TEST_F(misuse_reports, in_the_on_panic_function_it_ends_the_program_without_a_second_report) {
  EXPECT_FATAL(
      {
        on_panic([](panic_info const&) { unlocks_what_is_not_locked(); });
        run_named([] { throw std::runtime_error("boom"); });
      },
      "^panic: boom\n(.*\n)*thrum: fatal error: goroutine [0-9]+: mutex::unlock: the mutex is not locked\n$");
}

// The report needs locks that other threads may have held when the child was made.
TEST_F(misuse_reports, in_a_child_of_fork_only_the_message_is_printed) {
  EXPECT_EXIT(thrum::run([] {
                pid_t const child = ::fork();
                if (child == 0) unlocks_what_is_not_locked();
                int status = 0;
                ::waitpid(child, &status, 0);
                ::_exit(WIFEXITED(status) && WEXITSTATUS(status) == 2 ? 7 : 1);
              }),
              ExitedWithCode(7), "^thrum: fatal error: mutex::unlock: the mutex is not locked\n$");
}

}  // namespace
}  // namespace thrum::test
