// Everything at once: goroutines and threads, mutexes of all kinds, condition variables and timeouts, and calls that
// wait in between.
#include "base/random.h"
#include "posix_locks/locks.h"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <thread>
#include <vector>

#include <unistd.h>

namespace thrum::test {
namespace {

class posix_lock_storm : public at_every_width {};
THRUM_AT_WIDTHS(posix_lock_storm, 1, 2, 8);

// What is in it changes only under its lock.
struct account {
  explicit account(int kind) : guarded(kind) {}
  mutex_of_kind guarded;
  pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
  std::atomic<int> inside{0};
  std::int64_t holds = 100;
};

class bank {
 public:
  bank() {
    for (int const kind : {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ADAPTIVE_NP,
                           PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_RECURSIVE}) {
      accounts_.push_back(std::make_unique<account>(kind));
    }
  }

  [[nodiscard]] std::int64_t sum() const {
    std::int64_t all = 0;
    for (auto const& each : accounts_) all += each->holds;
    return all;
  }

  // As a program of threads would write it.
  void trade(rt::random_source& random) {
    auto const count = static_cast<std::uint32_t>(accounts_.size());
    std::uint32_t const from = random.below(count);
    std::uint32_t const to = (from + 1 + random.below(count - 1)) % count;
    account& first = *accounts_[std::min(from, to)];
    account& second = *accounts_[std::max(from, to)];
    if (!is_locked(first, random)) return;
    if (random.below(8) == 0) wait_for_a_change(first);
    if (!is_locked(second, random)) {
      first.guarded.unlock();
      return;
    }
    {
      alone const in_first(first.inside);
      alone const in_second(second.inside);
      std::int64_t const before = accounts_[from]->holds;
      if (random.below(4) == 0) ::usleep(10);
      accounts_[from]->holds = before - 1;
      ++accounts_[to]->holds;
    }
    EXPECT_EQ(random.below(4) == 0 ? ::pthread_cond_broadcast(&first.changed) : ::pthread_cond_signal(&first.changed),
              0);
    bool const in_order = random.below(2) == 0;
    (in_order ? first : second).guarded.unlock();
    (in_order ? second : first).guarded.unlock();
  }

 private:
  static bool is_locked(account& one, rt::random_source& random) {
    pthread_mutex_t* const it = one.guarded.get();
    switch (random.below(4)) {
      case 0: return ::pthread_mutex_trylock(it) == 0;
      case 1: {
        timespec const soon = moment_from_now(CLOCK_REALTIME, random.below(100) * 1000);
        int const answer = ::pthread_mutex_timedlock(it, &soon);
        EXPECT_TRUE(answer == 0 || answer == ETIMEDOUT) << answer;
        return answer == 0;
      }
      default: EXPECT_EQ(::pthread_mutex_lock(it), 0); return true;
    }
  }
  static void wait_for_a_change(account& one) {
    timespec const soon = moment_from_now(CLOCK_REALTIME, 100'000);
    int const answer = ::pthread_cond_timedwait(&one.changed, one.guarded.get(), &soon);
    EXPECT_TRUE(answer == 0 || answer == ETIMEDOUT) << answer;
  }

  std::vector<std::unique_ptr<account>> accounts_;
};

TEST_P(posix_lock_storm, T08_nothing_is_lost_between_goroutines_and_threads) {
  std::int64_t const rounds = scaled(is_long() ? 20'000 : 600, 60);
  bank all_accounts;
  std::int64_t const before = all_accounts.sum();
  auto const trades = [&](std::uint64_t seed) {
    rt::random_source random(seed);
    for (std::int64_t i = 0; i < rounds; ++i) all_accounts.trade(random);
  };
  run([&] {
    std::vector<std::thread> threads;
    for (std::uint64_t i = 0; i < 3; ++i) threads.emplace_back([&, i] { trades(1000 + i); });
    wait_group all;
    for (std::uint64_t i = 0; i < 24; ++i) all.go([&, i] { trades(i); });
    all.wait();
    for (std::thread& each : threads) each.join();
    EXPECT_TRUE(no_goroutine_is_at_home());
  });
  EXPECT_EQ(all_accounts.sum(), before);
}

// A goroutine that locks the mutex over and over without ever waiting gives way to the chosen goroutines that share its
// thread.
TEST_P(posix_lock_storm, T08_one_that_never_waits_gives_way_at_its_unlock) {
  run([] {
    mutex_of_kind guarded(PTHREAD_MUTEX_NORMAL);
    std::atomic<bool> is_done{false};
    guarded.lock();
    wait_group all;
    all.go([&] {
      guarded.lock();
      is_done = true;
      guarded.unlock();
    });
    ASSERT_TRUE(until_waiting(rt::wait_reason::mutex, 1));
    std::int64_t turns = 0;
    for (; !is_done && turns < 1'000'000'000; ++turns) {
      guarded.unlock();
      guarded.lock();
    }
    guarded.unlock();
    EXPECT_TRUE(is_done);
    all.wait();
  });
}

}  // namespace
}  // namespace thrum::test
