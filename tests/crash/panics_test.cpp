// DL-10, DL-11: the report on a panic, beside whatever else goes on.
#include "base/report_limits.h"
#include "core/sched.h"
#include "core/status.h"
#include "os/thread.h"
#include "support/child_test.h"
#include "support/goroutines.h"
#include "support/hogs.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>
#include <unistd.h>

namespace thrum::test {
namespace {

[[gnu::noinline]] void thrower() { throw std::runtime_error("boom"); }

// Matches a text that has the one and not the other.
class has_but_not : public testing::MatcherInterface<std::string const&> {
 public:
  has_but_not(std::string wanted, std::string unwanted) : wanted_(std::move(wanted)), unwanted_(std::move(unwanted)) {}
  bool MatchAndExplain(std::string const& text, testing::MatchResultListener*) const override {
    return text.find(wanted_) != std::string::npos && text.find(unwanted_) == std::string::npos;
  }
  void DescribeTo(std::ostream* out) const override { *out << "has " << wanted_ << " and not " << unwanted_; }

 private:
  std::string wanted_;
  std::string unwanted_;
};

testing::Matcher<std::string const&> has_not(std::string wanted, std::string unwanted) {
  return testing::Matcher<std::string const&>(new has_but_not(std::move(wanted), std::move(unwanted)));
}

// One that waits under the name "quiet", and f in a goroutine of its own.
void panic_beside_a_quiet_one(std::function<void()> const& f) {
  thrum::run(
      [&] {
        chan<int> never;
        go([&] {
          this_goroutine::set_name("quiet");
          static_cast<void>(never.recv());
        });
        while (waiting_for(rt::wait_reason::chan_receive) != 1) yield();
        wait_group main_waits;
        main_waits.add(1);
        go([&] { f(); });
        main_waits.wait();
      },
      {.max_procs = 2});
}

constexpr char const* its_own_report_and_the_others =
    "panic: boom\ngoroutine [0-9]+ \\[running\\]\n(.*\n)*created by goroutine [0-9]+\n(.*\n)*"
    "goroutine [0-9]+ \\[waiting: chan receive\\] quiet:\n";

class panic_reports : public child_test {};

TEST_F(panic_reports, DL10_the_others_follow) {
  EXPECT_FATAL(panic_beside_a_quiet_one([] { thrower(); }), its_own_report_and_the_others);
}

TEST_F(panic_reports, DL10_it_stands_there_once) {
  // By its number: the first goroutine after main and the quiet one.
  EXPECT_FATAL(panic_beside_a_quiet_one([] {
                 this_goroutine::set_name("loud");
                 thrower();
               }),
               has_not("[running] loud\n", "loud:\n"));
}

TEST_F(panic_reports, DL10_traceback_single_shows_it_alone) {
  EXPECT_FATAL(
      {
        ::setenv("THRUM_DEBUG", "traceback=single", 1);
        panic_beside_a_quiet_one([] { thrower(); });
      },
      has_not("panic: boom\n", "] quiet:"));
}

TEST_F(panic_reports, DL10_in_an_announced_call) {
  EXPECT_FATAL(panic_beside_a_quiet_one([] { blocking([] { thrower(); }); }), its_own_report_and_the_others);
}

TEST_F(panic_reports, DL10_on_a_locked_thread) {
  EXPECT_FATAL(panic_beside_a_quiet_one([] {
                 lock_os_thread();
                 thrower();
               }),
               its_own_report_and_the_others);
}

void throw_beside_a_loop() {
  std::atomic<bool> loops{false};
  go([&] {
    loops = true;
    loop_for_ever();
  });
  while (!loops) yield();
  thrower();
}

void throw_beside_a_deaf_loop() {
  std::atomic<bool> loops{false};
  go([&] {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
    loops = true;
    loop_for_ever();
  });
  while (!loops) yield();
  thrower();
}

TEST_F(panic_reports, DL10_beside_a_loop_without_calls) {
  EXPECT_FATAL(panic_beside_a_quiet_one(throw_beside_a_loop), its_own_report_and_the_others);
}

// The loop takes no signal, so it cannot be stopped: the report says so, and still comes to its end.
TEST_F(panic_reports, DL11_beside_a_loop_that_cannot_be_stopped) {
  EXPECT_FATAL(
      { panic_beside_a_quiet_one(throw_beside_a_deaf_loop); },
      "panic: boom\n(.*\n)*thrum: some goroutines could not be stopped within a second and are shown as they were "
      "found\n(.*\n)*goroutine [0-9]+ .*quiet:\n");
}

TEST_F(panic_reports, DL11_while_others_panic) {
  EXPECT_FATAL(panic_beside_a_quiet_one([] {
                 for (int i = 0; i < 20; ++i) go([] { thrower(); });
                 for (;;) yield();
               }),
               its_own_report_and_the_others);
}

TEST_F(panic_reports, DL11_while_others_stop_the_world) {
  EXPECT_FATAL(panic_beside_a_quiet_one([] {
                 for (int i = 0; i < 3; ++i) {
                   go([] {
                     for (int procs = 0;; ++procs) set_max_procs(1 + procs % 3);
                   });
                 }
                 for (int i = 0; i < 100; ++i) yield();
                 thrower();
               }),
               its_own_report_and_the_others);
}

// The list then has what can be read while goroutines run.
TEST_F(panic_reports, DL11_while_another_thread_does_not_let_it_stop_the_world) {
  EXPECT_FATAL(
      {
        rt::set_second_of_reports(50'000'000);
        panic_beside_a_quiet_one([] {
          std::atomic<bool> is_held{false};
          std::thread([&is_held, &s = this_sched()] {
            while (!s.world.try_to_take()) rt::os::yield_thread();
            is_held = true;
            for (;;) ::pause();
          }).detach();
          if (!wait_until([&] { return is_held.load(); })) ::_exit(8);
          thrower();
        });
      },
      "panic: boom\n(.*\n)*thrum: the goroutines are shown without names and stack traces, because another goroutine has "
      "been stopping them for more than a second\n(.*\n)*goroutine [0-9]+ \\[waiting: chan receive\\]:\n");
}

TEST_F(panic_reports, DL11_says_what_is_missing_if_no_thread_makes_the_list) {
  EXPECT_FATAL(
      {
        rt::set_second_of_reports(50'000'000);
        panic_beside_a_quiet_one([] {
          rt::Sched& s = this_sched();
          s.thread_maker.run_once([](rt::Sched&) noexcept {
            for (;;) ::pause();
          });
          if (!wait_until([&] { return !s.thread_maker.has_errand(); })) ::_exit(8);
          thrower();
        });
      },
      "panic: boom\n(.*\n)*thrum: not all other goroutines are shown, because no thread has noted them within five "
      "seconds\n$");
}

TEST_F(panic_reports, DL11_beside_threads_from_outside) {
  EXPECT_FATAL(panic_beside_a_quiet_one([] {
                 chan<int> meeting;
                 std::thread([&] {
                   for (;;) meeting.send(1);
                 }).detach();
                 for (int i = 0; i < 100; ++i) static_cast<void>(meeting.recv());
                 thrower();
               }),
               its_own_report_and_the_others);
}

// The last word comes after the report, may wait and go on elsewhere, and an exception in it is no second report.
TEST_F(panic_reports, DL11_the_last_word_may_yield_and_throw) {
  EXPECT_FATAL(
      {
        on_panic([](panic_info const& info) {
          for (int i = 0; i < 1000; ++i) yield();
          sleep_for(std::chrono::milliseconds(1));
          std::fprintf(stderr, "last word on %s\n", info.what);
          throw std::logic_error("another");
        });
        panic_beside_a_quiet_one([] { thrower(); });
      },
      "quiet:\n(.*\n)*last word on boom\n(.*\n)*thrum: the on_panic function threw an exception, which is ignored\n");
}

// If the on_panic function itself waits and no goroutine can wake it, the program ends as it would by the panic,
// without a report of a deadlock. The same holds if other goroutines panic at the same time.
TEST_F(panic_reports, DL11_S20_a_last_word_that_no_goroutine_can_wake) {
  THRUM_SKIP_IF_DEADLOCKS_ARE_NOT_SEEN();
  for (bool const others_panic : {false, true}) {
    auto const child = [others_panic] {
      on_panic([others_panic](panic_info const&) {
        if (others_panic) go([] { thrower(); });
        static_cast<void>(chan<int>().recv());
      });
      panic_beside_a_quiet_one([] { thrower(); });
    };
    EXPECT_FATAL(child(), "^panic: boom\n(.*\n)*thrum: the on_panic function waits, and no goroutine can wake it\n$");
    EXPECT_FATAL(child(), has_not("] quiet:\n", "deadlock"));
  }
}

TEST_F(panic_reports, DL11_exceptions_within_exceptions_are_listed_in_order) {
  EXPECT_FATAL(panic_beside_a_quiet_one([] {
                 try {
                   try {
                     throw std::runtime_error("the disk");
                   } catch (...) {
                     std::throw_with_nested(std::logic_error("the file"));
                   }
                 } catch (...) {
                   std::throw_with_nested(std::runtime_error("the page"));
                 }
               }),
               "^panic: the page\n\tcaused by: the file\n\tcaused by: the disk\ngoroutine ");
}

struct is_no_std_exception {
  int code = 0;
};

TEST_F(panic_reports, DL11_the_last_word_is_told_of_the_outermost_exception) {
  EXPECT_FATAL(
      {
        on_panic([](panic_info const& info) { std::fprintf(stderr, "last word on %s\n", info.what); });
        panic_beside_a_quiet_one([] {
          try {
            throw 42;
          } catch (...) {
            std::throw_with_nested(is_no_std_exception{});
          }
        });
      },
      "^panic: an object of type .*is_no_std_exception.*\n\tcaused by: an object of type int\n"
      "(.*\n)*last word on an object of type .*is_no_std_exception");
}

}  // namespace
}  // namespace thrum::test
