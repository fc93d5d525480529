#include "os/thread.h"

#include "base/atomic.h"
#include "os/fault.h"
#include "os/note.h"

#include <cstdlib>
#include <string>

#include <errno.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

namespace thrum::rt::os {
namespace {

sigset_t current_mask() {
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  return mask;
}

bool same(sigset_t const& a, sigset_t const& b) {
  for (int signal = 1; signal < NSIG; ++signal) {
    if (sigismember(&a, signal) != sigismember(&b, signal)) return false;
  }
  return true;
}

void* store_mask(void* out) {
  *static_cast<sigset_t*>(out) = current_mask();
  return nullptr;
}

void* store_tid(void* out) {
  *static_cast<int*>(out) = current_tid();
  return nullptr;
}

TEST(thread, runs_its_function_and_can_be_joined) {
  thread t{};
  int tid = 0;
  ASSERT_EQ(create_thread(t, store_tid, &tid), 0);
  join_thread(t);
  EXPECT_GT(tid, 0);
  EXPECT_NE(tid, current_tid());
}

TEST(thread, one_that_was_joined_is_listed_no_more) {
  for (int i = 0; i < 500; ++i) {
    thread t{};
    int tid = 0;
    ASSERT_EQ(create_thread(t, store_tid, &tid), 0);
    join_thread(t, tid);
    ASSERT_FALSE(thread_is_listed(tid)) << i;
  }
}

TEST(thread, the_tid_of_the_main_thread_is_the_process) { EXPECT_EQ(current_tid(), getpid()); }

TEST(thread, a_detached_thread_runs_to_its_end) {
  thread t{};
  note done;
  auto const entry = [](void* n) -> void* {
    static_cast<note*>(n)->wake();
    return nullptr;
  };
  ASSERT_EQ(create_thread(t, entry, &done), 0);
  detach_thread(t);
  done.sleep();
}

// clang's AddressSanitizer starts a thread with the signal mask of the thread that creates it, whatever mask was asked
// for.
#if THRUM_ASAN && defined(__clang__)
#define SKIP_IF_THREADS_START_WITH_ANOTHER_MASK() GTEST_SKIP() << "the sanitizer sets the masks of new threads"
#else
#define SKIP_IF_THREADS_START_WITH_ANOTHER_MASK() static_cast<void>(0)
#endif

TEST(thread, S22_starts_with_the_mask_of_its_creator_which_keeps_it) {
  SKIP_IF_THREADS_START_WITH_ANOTHER_MASK();
  sigset_t original = current_mask();
  sigset_t wanted = original;
  sigaddset(&wanted, SIGUSR1);
  sigdelset(&wanted, SIGUSR2);
  ASSERT_EQ(pthread_sigmask(SIG_SETMASK, &wanted, nullptr), 0);
  thread t{};
  sigset_t seen;
  sigfillset(&seen);
  ASSERT_EQ(create_thread(t, store_mask, &seen), 0);
  join_thread(t);
  EXPECT_TRUE(same(seen, wanted));
  EXPECT_TRUE(same(current_mask(), wanted));
  pthread_sigmask(SIG_SETMASK, &original, nullptr);
}

TEST(thread, T15_one_that_serves_the_runtime_takes_only_the_faults_that_it_causes) {
  SKIP_IF_THREADS_START_WITH_ANOTHER_MASK();
  sigset_t const before = current_mask();
  thread t{};
  sigset_t seen;
  sigemptyset(&seen);
  ASSERT_EQ(create_thread(t, store_mask, &seen, takes_signals::only_its_own), 0);
  join_thread(t);
  for (int const others : {SIGINT, SIGUSR1, SIGALRM, SIGPROF, SIGQUIT, SIGURG, SIGRTMIN}) {
    EXPECT_EQ(sigismember(&seen, others), 1) << others;
  }
  for (int const own : {SIGSEGV, SIGBUS, SIGFPE, SIGABRT}) EXPECT_EQ(sigismember(&seen, own), 0) << own;
  EXPECT_TRUE(same(current_mask(), before));
}

TEST(thread, S22_a_thread_that_cannot_be_created_leaves_the_mask_alone) {
  sigset_t const before = current_mask();
  inject_fault(call::thread_create, EAGAIN);
  thread t{};
  EXPECT_EQ(create_thread(t, store_mask, nullptr), EAGAIN);
  EXPECT_TRUE(same(current_mask(), before));
  clear_faults();
}

constinit atomic<int> alarms{0};

TEST(thread, S22_a_storm_of_signals_during_creation_does_no_harm) {
  SKIP_IF_THREADS_START_WITH_ANOTHER_MASK();
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = [](int) { alarms.fetch_add(1, relaxed); };  // relaxed: only counted
  action.sa_flags = SA_RESTART;
  ASSERT_EQ(sigaction(SIGALRM, &action, &before), 0);
  itimerval const storm{{0, 100}, {0, 100}};
  itimerval const calm{};
  ASSERT_EQ(setitimer(ITIMER_REAL, &storm, nullptr), 0);
  for (int i = 0; i < 200 || alarms.load(relaxed) < 10; ++i) {
    thread t{};
    sigset_t seen;
    sigfillset(&seen);
    ASSERT_EQ(create_thread(t, store_mask, &seen), 0);
    join_thread(t);
    ASSERT_EQ(sigismember(&seen, SIGALRM), 0);
  }
  setitimer(ITIMER_REAL, &calm, nullptr);
  sigaction(SIGALRM, &before, nullptr);
}

TEST(thread, its_name_is_cut_to_what_the_kernel_keeps) {
  thread t{};
  std::string name;
  auto const entry = [](void* out) -> void* {
    char read_back[16] = {};
    set_thread_name("thrum-a-very-long-name");
    pthread_getname_np(pthread_self(), read_back, sizeof read_back);
    *static_cast<std::string*>(out) = read_back;
    return nullptr;
  };
  ASSERT_EQ(create_thread(t, entry, &name), 0);
  join_thread(t);
  EXPECT_EQ(name, "thrum-a-very-lo");
}

void expect_inside_stack() {
  thread_stack_bounds const stack = current_thread_stack();
  auto* const here = static_cast<char*>(__builtin_frame_address(0));
  EXPECT_LT(stack.low, here);
  EXPECT_LT(here, stack.high);
  EXPECT_GE(stack.high - stack.low, 64 * 1024);
}

TEST(thread, the_main_thread_knows_its_stack) { expect_inside_stack(); }

TEST(thread, a_created_thread_knows_its_stack) {
  thread t{};
  auto const entry = [](void*) -> void* {
    expect_inside_stack();
    return nullptr;
  };
  ASSERT_EQ(create_thread(t, entry, nullptr), 0);
  join_thread(t);
}

// Compared while another thread lives: the first thread of all brings those of a sanitizer along.
TEST(thread, threads_of_the_process_are_counted) {
  struct waiting_thread {
    note started;
    note finish;
    thread handle{};

    waiting_thread() {
      auto const entry = [](void* p) -> void* {
        auto* const self = static_cast<waiting_thread*>(p);
        self->started.wake();
        self->finish.sleep();
        return nullptr;
      };
      if (create_thread(handle, entry, this) != 0) std::abort();
      started.sleep();
    }
    waiting_thread(waiting_thread const&) = delete;
    waiting_thread& operator=(waiting_thread const&) = delete;
    ~waiting_thread() {
      finish.wake();
      join_thread(handle);
    }
  };
  waiting_thread const first;
  int const before = count_process_threads();
  ASSERT_GE(before, 2);
  waiting_thread const second;
  EXPECT_EQ(count_process_threads(), before + 1);
  EXPECT_EQ(count_process_threads(before + 1), before + 1);
  EXPECT_GT(count_process_threads(before), before) << "it stops there at the earliest";
}

TEST(thread, when_the_threads_cannot_be_counted_the_answer_is_minus_one) {
  inject_fault(call::open, EMFILE);
  EXPECT_EQ(count_process_threads(), -1);
  inject_fault(call::read, EIO);
  EXPECT_EQ(count_process_threads(), -1);
  clear_faults();
}

}  // namespace
}  // namespace thrum::rt::os
