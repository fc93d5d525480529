// A report on a crash comes to its end, whatever is damaged and whatever waits: then the program ends by the signal
// that was the first. Handlers of the program's own are left alone.
#include "base/report_limits.h"
#include "crash/crasher.h"
#include "support/child_test.h"
#include "support/goroutines.h"
#include "support/plugin.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>

#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

namespace thrum::test {
namespace {

using testing::ExitedWithCode;
using testing::KilledBySignal;

class reports_end : public child_test {};

// --- damaged stacks ---

[[gnu::noinline]] void damages_its_return_address() {
  auto* const frame = static_cast<std::uintptr_t volatile*>(__builtin_frame_address(0));
  frame[1] = 0x4141'4141'4141'4141;
  is_no_instruction();
  asm volatile("");
}

// The walk of the stack faults in turn, by SIGSEGV.
TEST_F(reports_end, a_report_on_a_damaged_stack_is_complete_and_the_program_ends_by_the_first_signal) {
  THRUM_SKIP_WITH_SANITIZERS();
  EXPECT_EXIT(run_named(damages_its_return_address), KilledBySignal(SIGILL),
              report_of("thrum: fatal error: SIGILL: ", "is_no_instruction"));
}

// Its unwind information says that its caller's frame is at address 64.
[[gnu::noinline]] void loops_with_wrong_unwind_information(std::atomic<bool>& is_there) {
  is_there = true;
#if defined(__x86_64__)
  asm volatile(
      ".cfi_remember_state\n"
      ".cfi_def_cfa rax, 0\n"
      "1: jmp 1b\n"
      ".cfi_restore_state" ::"a"(64UL));
#else
  register unsigned long nowhere asm("x0") = 64;
  asm volatile(
      ".cfi_remember_state\n"
      ".cfi_def_cfa x0, 0\n"
      ".cfi_offset x30, -8\n"
      "1: b 1b\n"
      ".cfi_restore_state" ::"r"(nowhere));
#endif
}

TEST_F(reports_end, wrong_unwind_information_harms_neither_a_dump_nor_the_end_of_a_run) {
  if (rt::with_tsan) GTEST_SKIP() << "ThreadSanitizer defers signals: loops without calls are not stopped";
  EXPECT_EXIT(
      {
        thrum::run(
            [] {
              std::atomic<bool> is_there{false};
              go([&] { loops_with_wrong_unwind_information(is_there); });
              if (!wait_until([&] { return is_there.load(); })) ::_exit(8);
              dump_goroutines(stderr);
            },
            {.max_procs = 2});
        ::_exit(7);
      },
      ExitedWithCode(7), "goroutine 2 .*running");
}

// --- reports that wait ---

// The time limits of reports are five to fifteen seconds of this length. Without a limit the child's alarm ends it.
void shorten_limits() { rt::set_second_of_reports(100'000'000); }

// A pipe that no process reads, with no room left, becomes standard error.
void fill_standard_error() {
  int ends[2];
  if (::pipe(ends) != 0) ::_exit(9);
  ::fcntl(ends[1], F_SETFL, O_NONBLOCK);
  char const some[4096] = {};
  while (::write(ends[1], some, sizeof some) > 0) {
  }
  ::fcntl(ends[1], F_SETFL, 0);
  ::dup2(ends[1], STDERR_FILENO);
}

TEST_F(reports_end, a_report_that_cannot_be_written_ends_the_program_by_its_signal_although_another_goroutine_crashes) {
  THRUM_SKIP_WITH_SANITIZERS();
  EXPECT_EXIT(run_named([] {
                shorten_limits();
                fill_standard_error();
                go(writes_to_nowhere);
                writes_to_nowhere();
              }),
              KilledBySignal(SIGSEGV), "");
}

std::atomic<bool> loader_is_busy{false};
void keep_the_loader_busy() {
  loader_is_busy = true;
  for (;;) ::pause();
}

// The constructor of a plugin does not return, so the loader's lock stays locked, and no name can be looked up.
void lock_the_loader_in(void (*does_not_return)()) {
  auto const address = reinterpret_cast<std::uintptr_t>(does_not_return);
  ::setenv("THRUM_TEST_PLUGIN_CALLS", std::to_string(address).c_str(), 1);
  std::thread([] { ::dlopen(plugin_file().c_str(), RTLD_NOW | RTLD_LOCAL); }).detach();
  if (!wait_until([] { return loader_is_busy.load(); })) ::_exit(8);
}
void lock_the_loader_for_good() { lock_the_loader_in(keep_the_loader_busy); }

TEST_F(reports_end, a_report_that_waits_for_the_loader_ends_the_program_by_its_signal_and_says_what_is_missing) {
  THRUM_SKIP_WITH_SANITIZERS();
  EXPECT_EXIT(
      run_named([] {
        shorten_limits();
        lock_the_loader_for_good();
        writes_to_nowhere();
      }),
      KilledBySignal(SIGSEGV),
      "SIGSEGV: .*\n(.*\n)*goroutine [0-9]+ .running. crasher\nthrum: to look an address up .*subtract 0x[0-9a-f]+\n"
      "(pc 0x[0-9a-f]+\n)+created by goroutine 1\npc 0x[0-9a-f]+\n"
      "thrum: this report is incomplete: it has waited too long");
}

// --- dumps without names ---

constexpr char const* dump_without_names =
    "thrum: the names of functions cannot be had: their reader has waited too long, probably for dlopen\n"
    "(.*\n)*goroutine [0-9]+ .waiting: [a-z ]+.*:\n(pc 0x[0-9a-f]+\n)+"
    "(.*\n)*thrum: to look an address up .*subtract 0x[0-9a-f]+\n$";

TEST_F(reports_end, a_dump_on_SIGQUIT_that_waits_for_the_loader_shows_addresses) {
  EXPECT_EXIT(
      {
        rt::set_second_of_reports(20'000'000);  // the names have sixty of them
        run_named([] {
          lock_the_loader_for_good();
          ::raise(SIGQUIT);  // to this thread: TSan keeps a signal back while its thread sleeps
          sleep_for(std::chrono::hours(1));
        });
      },
      ExitedWithCode(2), std::string("SIGQUIT: quit\n") + dump_without_names);
}

chan<int>* never_sent_to = nullptr;
void wait_for_good_in_the_loader() {
  loader_is_busy = true;
  static_cast<void>(never_sent_to->recv());
}

bool a_thread_from_outside_waits() {
  rt::Sched& s = this_sched();
  rt::runtime_mark const mark;
  rt::os::lock_guard const guard(s.lock);
  auto const waits = [](rt::M const& m) {
    return m.is_foreign && m.current != nullptr && m.current->status.load(rt::relaxed) == rt::g_status::waiting;
  };
  return s.ms.all().find(waits) != nullptr;
}

// A thread from outside waits in a constructor, with the loader's lock, and its run ends.
TEST_F(reports_end, a_deadlock_that_waits_for_the_loader_shows_addresses) {
  THRUM_SKIP_IF_DEADLOCKS_ARE_NOT_SEEN();
  EXPECT_EXIT(
      {
        rt::set_second_of_reports(20'000'000);  // the names have sixty of them
        never_sent_to = new chan<int>;
        thrum::run([] {
          lock_the_loader_in(wait_for_good_in_the_loader);
          if (!wait_until(a_thread_from_outside_waits)) ::_exit(9);
        });
        thrum::run([] { static_cast<void>(chan<int>().recv()); });
      },
      ExitedWithCode(2), std::string("deadlock!\n") + dump_without_names);
}

TEST_F(reports_end, a_panic_that_waits_for_the_loader_shows_addresses_and_calls_the_on_panic_function) {
  EXPECT_EXIT(
      {
        on_panic([](panic_info const&) { std::fprintf(stderr, "the last words are complete\n"); });
        run_named([] {
          shorten_limits();
          lock_the_loader_for_good();
          throw std::runtime_error("boom");
        });
      },
      ExitedWithCode(2),
      "panic: boom\n(.*\n)*goroutine [0-9]+ .running. crasher\nthrum: the names of functions cannot be had.*\n"
      "thrum: to look an address up .*subtract 0x[0-9a-f]+\npc 0x[0-9a-f]+\n"
      "(.*\n)*created by goroutine 1\npc 0x[0-9a-f]+\n"
      "thrum: not all other goroutines are shown, because the names of their functions cannot be had either\n"
      "the last words are complete\n$");
}

TEST_F(reports_end, a_report_on_terminate_that_cannot_be_written_ends_the_program_by_SIGABRT) {
  EXPECT_EXIT(run_named([] {
                shorten_limits();
                fill_standard_error();
                std::terminate();
              }),
              KilledBySignal(SIGABRT), "");
}

TEST_F(reports_end, a_report_on_terminate_that_cannot_be_written_is_followed_by_the_programs_terminate_handler) {
  EXPECT_EXIT(
      {
        std::set_terminate([] { ::_exit(7); });
        run_named([] {
          shorten_limits();
          fill_standard_error();
          std::terminate();
        });
      },
      ExitedWithCode(7), "");
}

// --- handlers of the program's own ---

struct handler_call {
  int signal;
  bool on_signal_stack;
} volatile last_call;

void note_call(int signal) {
  stack_t now{};
  ::sigaltstack(nullptr, &now);
  last_call.signal = signal;
  last_call.on_signal_stack = (now.ss_flags & SS_ONSTACK) != 0;
}

struct sigaction in_force(int signal) {
  struct sigaction now {};
  ::sigaction(signal, nullptr, &now);
  return now;
}

class own_handlers : public testing::TestWithParam<int> {
 protected:
  own_handlers() : before_(in_force(GetParam())) {}
  ~own_handlers() override { ::sigaction(GetParam(), &before_, nullptr); }

  static void expect_that_it_works() {
    EXPECT_EQ(in_force(GetParam()).sa_handler, note_call);
    last_call.signal = 0;
    ASSERT_EQ(::raise(GetParam()), 0);
    EXPECT_EQ(last_call.signal, GetParam());
    EXPECT_FALSE(last_call.on_signal_stack) << "it was installed without SA_ONSTACK";
  }

 private:
  struct sigaction before_;
};

INSTANTIATE_TEST_SUITE_P(all, own_handlers, testing::Values(SIGBUS, SIGFPE, SIGILL, SIGABRT));

TEST_P(own_handlers, one_that_was_there_before_the_run_stays_in_force_and_on_its_stack) {
  ::signal(GetParam(), note_call);
  for (int i = 0; i < 2; ++i) thrum::run(expect_that_it_works);
  expect_that_it_works();
}

TEST_P(own_handlers, so_does_one_that_comes_during_a_run) {
  thrum::run([] {
    ::signal(GetParam(), note_call);
    expect_that_it_works();
  });
  for (int i = 0; i < 2; ++i) thrum::run(expect_that_it_works);
  expect_that_it_works();
}

// A handler that the program takes away again does not cost it the report of a later run.
TEST_F(reports_end, after_a_handler_that_is_gone_a_later_run_has_its_report) {
  THRUM_SKIP_WITH_SANITIZERS();
  EXPECT_EXIT(
      {
        thrum::run([] { ::signal(SIGILL, note_call); });
        ::signal(SIGILL, SIG_DFL);
        run_named(is_no_instruction);
      },
      KilledBySignal(SIGILL), report_of("thrum: fatal error: SIGILL: ", "is_no_instruction"));
}

}  // namespace
}  // namespace thrum::test
