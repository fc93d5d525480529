#include "os/signal.h"

#include "base/platform.h"
#include "os/fault.h"
#include "os/interrupted_code.h"
#include "os/memory.h"
#include "os/thread.h"

#include <cstdint>
#include <cstdlib>
#include <thread>

#include <errno.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace thrum::rt::os {
namespace {

// What the handlers below saw. They run on this thread, in the middle of the test.
struct seen_fault {
  int calls;
  int signal;
  char* address;
  char* handler_frame;
  std::uintptr_t stack_pointer;
  std::uintptr_t program_counter;
};
seen_fault volatile seen;
int volatile chained;
char* volatile page;

// Opens the page, so that the access that faulted succeeds when it is repeated.
bool open_page(int signal, siginfo_t* information, void* context) {
  seen.calls = seen.calls + 1;
  seen.signal = signal;
  seen.address = static_cast<char*>(information->si_addr);
  seen.handler_frame = static_cast<char*>(__builtin_frame_address(0));
  seen.stack_pointer = stack_pointer_of(context);
  seen.program_counter = program_counter_of(context);
  errno = ERANGE;
  return protect_read_write(page, page_size()) == 0;
}

bool not_mine(int, siginfo_t*, void*) {
  seen.calls = seen.calls + 1;
  return false;
}

// The program's own handlers.
void chained_with_information(int, siginfo_t*, void*) {
  chained = chained + 1;
  static_cast<void>(protect_read_write(page, page_size()));
}
void chained_plain(int) {
  chained = chained + 1;
  static_cast<void>(protect_read_write(page, page_size()));
}

THRUM_NO_ASAN THRUM_NO_TSAN __attribute__((noinline)) char load(char const* address) {
  return *static_cast<char const volatile*>(address);
}

class fault_signals : public testing::Test {
 protected:
  void SetUp() override {
    clear_faults();
    sigaction(SIGSEGV, nullptr, &before_[0]);
    sigaction(SIGBUS, nullptr, &before_[1]);
    mapping const mapped = map(page_size());
    ASSERT_EQ(mapped.error, 0);
    page = mapped.address;
    ASSERT_EQ(protect_none(page, page_size()), 0);
    seen.calls = 0;
    chained = 0;
  }
  void TearDown() override {
    clear_faults();
    static_cast<void>(remove_fault_handler());
    sigaction(SIGSEGV, &before_[0], nullptr);
    sigaction(SIGBUS, &before_[1], nullptr);
    EXPECT_EQ(unmap(page, page_size()), 0);
  }

  static void program_installs(struct sigaction const& action) { ASSERT_EQ(sigaction(SIGSEGV, &action, nullptr), 0); }
  static struct sigaction program_action(void (*handler)(int, siginfo_t*, void*)) {
    struct sigaction action {};
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO;
    return action;
  }

  struct sigaction before_[2]{};
};

TEST_F(fault_signals, a_fault_that_is_dealt_with_goes_on_where_it_happened) {
  ASSERT_EQ(install_fault_handler(open_page), 0);
  errno = EDOM;
  EXPECT_EQ(load(page + 5), 0);
  EXPECT_EQ(errno, EDOM);
  EXPECT_EQ(seen.calls, 1);
  EXPECT_EQ(seen.signal, SIGSEGV);
  EXPECT_EQ(seen.address, page + 5);
  thread_stack_bounds const stack = current_thread_stack();
  EXPECT_GT(seen.stack_pointer, reinterpret_cast<std::uintptr_t>(stack.low));
  EXPECT_LT(seen.stack_pointer, reinterpret_cast<std::uintptr_t>(stack.high));
  auto const function = reinterpret_cast<std::uintptr_t>(&load);
  EXPECT_GE(seen.program_counter, function);
  EXPECT_LT(seen.program_counter, function + 4096);
  EXPECT_EQ(remove_fault_handler(), 0);
}

TEST_F(fault_signals, the_handler_runs_on_the_alternate_stack) {
  std::size_t const bytes = alt_stack_bytes();
  mapping const stack = map(bytes);
  ASSERT_EQ(stack.error, 0);
  ASSERT_EQ(install_alt_stack(stack.address, bytes), 0);
  ASSERT_EQ(install_fault_handler(open_page), 0);
  load(page);
  char* const frame = seen.handler_frame;
  EXPECT_GT(frame, stack.address);
  EXPECT_LT(frame, stack.address + bytes);
  EXPECT_EQ(remove_fault_handler(), 0);
  EXPECT_EQ(remove_alt_stack(), 0);
  EXPECT_EQ(unmap(stack.address, bytes), 0);
}

TEST_F(fault_signals, what_is_not_ours_goes_to_the_handler_of_the_program) {
  program_installs(program_action(chained_with_information));
  ASSERT_EQ(install_fault_handler(not_mine), 0);
  load(page);
  EXPECT_EQ(seen.calls, 1);
  EXPECT_EQ(chained, 1);
}

TEST_F(fault_signals, a_handler_of_one_argument_is_served_too) {
  struct sigaction action {};
  action.sa_handler = chained_plain;
  program_installs(action);
  ASSERT_EQ(install_fault_handler(not_mine), 0);
  load(page);
  EXPECT_EQ(chained, 1);
}

TEST_F(fault_signals, the_handler_of_the_program_runs_under_the_mask_it_asked_for) {
  static bool volatile usr1_blocked;
  static bool volatile segv_blocked;
  usr1_blocked = false;
  segv_blocked = true;
  struct sigaction action = program_action([](int, siginfo_t*, void*) {
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    usr1_blocked = sigismember(&mask, SIGUSR1) == 1;
    segv_blocked = sigismember(&mask, SIGSEGV) == 1;
    static_cast<void>(protect_read_write(page, page_size()));
  });
  action.sa_flags |= SA_NODEFER;
  sigaddset(&action.sa_mask, SIGUSR1);
  program_installs(action);
  ASSERT_EQ(install_fault_handler(not_mine), 0);
  load(page);
  EXPECT_TRUE(usr1_blocked);
  EXPECT_FALSE(segv_blocked);
  sigset_t after;
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  EXPECT_EQ(sigismember(&after, SIGUSR1), 0);
}

TEST_F(fault_signals, the_default_action_ends_the_program_as_it_would_without_us) {
  auto const die = [] {
    rlimit const no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    signal(SIGSEGV, SIG_DFL);
    if (install_fault_handler(not_mine) != 0) _exit(9);
    load(page);
    _exit(10);
  };
  EXPECT_EXIT(die(), testing::KilledBySignal(SIGSEGV), "");
}

TEST_F(fault_signals, a_fault_sent_by_kill_ends_the_program_under_the_default_action) {
  auto const die = [] {
    rlimit const no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    signal(SIGBUS, SIG_DFL);
    if (install_fault_handler(not_mine) != 0) _exit(9);
    kill(getpid(), SIGBUS);
    _exit(10);
  };
  EXPECT_EXIT(die(), testing::KilledBySignal(SIGBUS), "");
}

TEST_F(fault_signals, a_fault_sent_by_kill_is_ignored_where_the_program_ignores_it) {
  signal(SIGSEGV, SIG_IGN);
  signal(SIGBUS, SIG_IGN);
  ASSERT_EQ(install_fault_handler(not_mine), 0);
  ASSERT_EQ(raise(SIGSEGV), 0);
  EXPECT_EQ(seen.calls, 1);
  ASSERT_EQ(raise(SIGBUS), 0);
  EXPECT_EQ(seen.calls, 1) << "of the signals, only SIGSEGV is taken from an action of the program";
}

TEST_F(fault_signals, a_one_shot_handler_of_the_program_is_called_once) {
  struct sigaction action = program_action(chained_with_information);
  action.sa_flags |= static_cast<int>(SA_RESETHAND);
  auto const die = [&] {
    rlimit const no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    program_installs(action);
    if (install_fault_handler(not_mine) != 0) _exit(9);
    load(page);
    if (chained != 1 || protect_none(page, page_size()) != 0) _exit(10);
    load(page);
    _exit(11);
  };
  EXPECT_EXIT(die(), testing::KilledBySignal(SIGSEGV), "");
}

TEST_F(fault_signals, removing_restores_what_the_program_had) {
  program_installs(program_action(chained_with_information));
  ASSERT_EQ(install_fault_handler(not_mine), 0);
  EXPECT_EQ(install_fault_handler(open_page), EALREADY);
  EXPECT_EQ(remove_fault_handler(), 0);
  EXPECT_EQ(remove_fault_handler(), 0);
  struct sigaction now {};
  ASSERT_EQ(sigaction(SIGSEGV, nullptr, &now), 0);
  EXPECT_EQ(now.sa_sigaction, &chained_with_information);
  load(page);
  EXPECT_EQ(chained, 1);
  EXPECT_EQ(seen.calls, 0);
}

TEST_F(fault_signals, can_be_installed_again_after_removal) {
  for (int i = 1; i <= 3; ++i) {
    ASSERT_EQ(install_fault_handler(open_page), 0);
    load(page);
    EXPECT_EQ(seen.calls, i);
    ASSERT_EQ(protect_none(page, page_size()), 0);
    ASSERT_EQ(remove_fault_handler(), 0);
  }
}

// The handler that the program puts on top passes everything on to what it found below: us.
struct sigaction found_below;
void on_top(int signal, siginfo_t* information, void* context) {
  chained = chained + 1;
  found_below.sa_sigaction(signal, information, context);
}

TEST_F(fault_signals, a_handler_put_on_top_of_ours_stays_and_its_chain_holds) {
  program_installs(program_action(chained_with_information));
  ASSERT_EQ(install_fault_handler(not_mine), 0);
  struct sigaction const top = program_action(on_top);
  ASSERT_EQ(sigaction(SIGSEGV, &top, &found_below), 0);
  EXPECT_EQ(remove_fault_handler(), EBUSY);
  load(page);
  EXPECT_EQ(chained, 2);  // the handler on top, and the first one by way of thrum's
  EXPECT_EQ(seen.calls, 0);

  ASSERT_EQ(protect_none(page, page_size()), 0);
  ASSERT_EQ(install_fault_handler(not_mine),
            0);  // makes no loop, because thrum's handler is linked below the one on top
  load(page);
  EXPECT_EQ(chained, 4);
  EXPECT_EQ(seen.calls, 1);

  ASSERT_EQ(sigaction(SIGSEGV, &found_below, nullptr), 0);  // the program takes its own away
  EXPECT_EQ(remove_fault_handler(), 0);
}

TEST_F(fault_signals, an_installation_that_fails_changes_nothing) {
  program_installs(program_action(chained_with_information));
  for (std::uint64_t skip = 0; skip < 4; ++skip) {  // look and take over, for two signals
    inject_fault(call::sigaction, EINVAL, skip);
    EXPECT_EQ(install_fault_handler(not_mine), EINVAL);
    struct sigaction now {};
    ASSERT_EQ(sigaction(SIGSEGV, nullptr, &now), 0);
    EXPECT_EQ(now.sa_sigaction, &chained_with_information);
  }
  clear_faults();
  EXPECT_EQ(install_fault_handler(not_mine), 0);
}

// The mask of a program whose parent process has blocked these signals by calling the kernel directly.
TEST(mask, T15_the_signals_of_the_C_library_itself_do_not_count) {
  std::thread([] {
    std::uint64_t const of_libc = std::uint64_t{3} << 31U;
    ASSERT_EQ(::syscall(SYS_rt_sigprocmask, SIG_BLOCK, &of_libc, nullptr, sizeof of_libc), 0);
    signal_mask const wanted = signal_mask::of_this_thread();
    EXPECT_TRUE(wanted.is_in_force());
    wanted.apply();
    EXPECT_TRUE(wanted.is_in_force());
    sigset_t more;
    sigemptyset(&more);
    sigaddset(&more, SIGUSR1);
    ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &more, nullptr), 0);
    EXPECT_FALSE(wanted.is_in_force());
  }).join();
}

TEST(alt_stack, T15_has_room_for_64_KiB_and_four_frames) {
  EXPECT_GE(alt_stack_bytes(), 64 * 1024 + 4 * getauxval(AT_MINSIGSTKSZ));
  EXPECT_EQ(alt_stack_bytes() % page_size(), 0U);
}

TEST(alt_stack, goes_back_to_what_the_thread_had) {
  stack_t before{};
  ASSERT_EQ(sigaltstack(nullptr, &before), 0);
  EXPECT_EQ(remove_alt_stack(), 0);  // thrum has set no stack, so there is nothing to remove
  mapping const stack = map(alt_stack_bytes());
  ASSERT_EQ(stack.error, 0);
  ASSERT_EQ(install_alt_stack(stack.address, alt_stack_bytes()), 0);
  stack_t now{};
  ASSERT_EQ(sigaltstack(nullptr, &now), 0);
  EXPECT_EQ(now.ss_sp, stack.address);
  ASSERT_EQ(remove_alt_stack(), 0);
  ASSERT_EQ(sigaltstack(nullptr, &now), 0);
  EXPECT_EQ(now.ss_sp, before.ss_sp);
  EXPECT_EQ(now.ss_flags, before.ss_flags);
  EXPECT_EQ(unmap(stack.address, alt_stack_bytes()), 0);
}

TEST(alt_stack, one_that_is_too_small_is_refused) {
  static char tiny[64];
  EXPECT_EQ(install_alt_stack(tiny, sizeof tiny), ENOMEM);
}

}  // namespace
}  // namespace thrum::rt::os
