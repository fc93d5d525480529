// Locks in a child of fork: it has the goroutine that forked, but no scheduler.
#include "posix_locks/lock_waiters.h"
#include "posix_locks/locks.h"

#include <array>
#include <cerrno>
#include <cstddef>
#include <deque>
#include <mutex>

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace thrum::test {
namespace {

class posix_locks_in_children : public at_every_width {};
THRUM_AT_WIDTHS(posix_locks_in_children, 1, 2, 8);

TEST_P(posix_locks_in_children, the_waiters_are_not_the_childs) {
  run([] {
    mutex_of_kind guarded(PTHREAD_MUTEX_NORMAL);
    mutex_of_kind recursive(PTHREAD_MUTEX_RECURSIVE);
    guarded.lock();
    wait_group all;
    ASSERT_TRUE(let_wait(all, guarded, 3));
    pid_t const child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      bool good = ::pthread_mutex_unlock(guarded.get()) == 0 && ::pthread_mutex_lock(guarded.get()) == 0;
      timespec const soon = moment_from_now(CLOCK_REALTIME, 1'000'000);
      good = good && ::pthread_mutex_timedlock(guarded.get(), &soon) == ETIMEDOUT;
      good = good && ::pthread_mutex_lock(recursive.get()) == 0 && ::pthread_mutex_lock(recursive.get()) == 0;
      good = good && ::pthread_mutex_unlock(recursive.get()) == 0 && ::pthread_mutex_unlock(recursive.get()) == 0;
      ::_exit(good ? 0 : 1);
    }
    int status = -1;
    EXPECT_EQ(blocking([&] { return ::waitpid(child, &status, 0); }), child);
    EXPECT_EQ(status, 0);
    guarded.unlock();
    all.wait();
  });
}

// The thread's, by sleeping unannounced, past what thrum::posix sees.
bool lose_p() {
  rt::M const& m = *rt::current_m();
  auto const has_lost_it = [&] { return (m.attention.load(rt::relaxed) & rt::m_attend::away) != 0; };
  timespec const a_while{0, 5'000'000};
  for (int i = 0; i < 1000 && !has_lost_it(); ++i) ::syscall(SYS_nanosleep, &a_while, nullptr);
  return has_lost_it();
}

// A library that was there before thrum::posix_locks: in the child its handler is called first.
struct {
  pthread_mutex_t guarded = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
  bool are_in_use = false;
  bool p_was_lost = false;
  int said_in_child = 0;
} its_handlers;

void before_fork() {
  if (!its_handlers.are_in_use) return;
  ::pthread_mutex_lock(&its_handlers.guarded);
  its_handlers.p_was_lost = lose_p();  // once more, because a goroutine that locks gets a P
}

void in_parent() {
  if (its_handlers.are_in_use) ::pthread_mutex_unlock(&its_handlers.guarded);
}

void in_child_first() {
  if (!its_handlers.are_in_use) return;
  ::alarm(20);
  its_handlers.said_in_child = ::pthread_mutex_unlock(&its_handlers.guarded);
}

[[gnu::constructor(101)]] void install_handlers() { ::pthread_atfork(before_fork, in_parent, in_child_first); }

// The goroutine's thread has no P when it forks. In the child it would wait for a P for ever, wherever it enters the
// runtime.
TEST_P(posix_locks_in_children, T04_a_child_of_one_that_has_lost_its_p_enters_nothing) {
  if (rt::with_tsan) GTEST_SKIP() << "ThreadSanitizer's fork is a long way, and sysmon gives it a P meanwhile";
  run([] {
    leave_m0();
    std::array<mutex_of_kind, 2> owned{mutex_of_kind(PTHREAD_MUTEX_RECURSIVE), mutex_of_kind(PTHREAD_MUTEX_ERRORCHECK)};
    std::atomic<bool> stop{false};
    wait_group all;
    for (int i = 0; i < procs(); ++i) {  // they want it
      all.go([&] {
        while (!stop) thrum::yield();
      });
    }
    all.go([&] {
      EXPECT_TRUE(lose_p());
      its_handlers.are_in_use = true;
      pid_t const child = ::fork();
      if (child == 0) {
        ::alarm(20);
        bool good = its_handlers.said_in_child == EPERM;  // as to a thread: it has another number now
        for (mutex_of_kind& each : owned) {
          good = good && ::pthread_mutex_lock(each.get()) == 0;
          good = good && ::pthread_mutex_trylock(each.get()) == (&each == &owned[0] ? 0 : EBUSY);
          good = good && ::pthread_mutex_unlock(each.get()) == 0;
        }
        pthread_cond_t never = PTHREAD_COND_INITIALIZER;
        timespec const soon = moment_from_now(CLOCK_REALTIME, 1'000'000);
        good = good && ::pthread_cond_timedwait(&never, owned[0].get(), &soon) == ETIMEDOUT;
        good = good && ::pthread_mutex_unlock(owned[0].get()) == 0;
        ::_exit(good ? 0 : 1);
      }
      EXPECT_GT(child, 0);
      its_handlers.are_in_use = false;
      EXPECT_TRUE(its_handlers.p_was_lost);
      int status = -1;
      EXPECT_EQ(blocking([&] { return ::waitpid(child, &status, 0); }), child);
      EXPECT_EQ(status, 0);
      stop = true;
    });
    all.wait();
  });
}

// How many pages of this memory are the calling process's alone; -1: the kernel does not say.
int own_pages(void const* low, std::size_t bytes) noexcept {
  auto const page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  auto const from = reinterpret_cast<std::uintptr_t>(low);
  int const file = ::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (file < 0) return -1;
  int own = 0;
  for (std::uintptr_t at = from / page + 1; at < (from + bytes) / page; ++at) {
    std::uint64_t entry = 0;
    if (::pread(file, &entry, sizeof entry, static_cast<off_t>(at * sizeof entry)) != sizeof entry) return -1;
    if ((entry >> 63U & 1U) != 0 && (entry >> 56U & 1U) != 0) ++own;  // present, and mapped only here
  }
  ::close(file);
  return own;
}

// Ends with what f says.
template <class F>
int in_child(F f) {
  pid_t const child = ::fork();
  if (child == 0) ::_exit(f());
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// The child has forgotten whatever this process has done; its own child has nothing to forget.
TEST(posix_locks_and_fork, a_child_writes_nothing_to_buckets_that_were_not_used) {
  if (rt::with_tsan || rt::with_asan) GTEST_SKIP() << "a sanitizer's fork is not this one";
  constexpr int cannot_tell = 99;
  run_at(2, [] {
    std::deque<mutex_of_kind> used;  // some of their buckets lie in whole pages
    for (int i = 0; i < 100; ++i) {
      mutex_of_kind& one = used.emplace_back(PTHREAD_MUTEX_RECURSIVE);
      one.lock();
      one.unlock();
    }
  });
  auto const pages = [] { return own_pages(&posix::address_buckets, sizeof posix::address_buckets); };
  if (pages() < 0) GTEST_SKIP() << "no /proc/self/pagemap";
  EXPECT_GT(pages(), 0);
  int const result = in_child([&] {
    int const before = pages();
    if (before <= 0) return cannot_tell;  // it has forgotten, and written that
    return in_child([&] { return pages(); });
  });
  EXPECT_EQ(result, 0);
}

}  // namespace
}  // namespace thrum::test
