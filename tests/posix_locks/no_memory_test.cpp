// Mutexes with an owner (recursive and errorcheck) need a record, and there is no memory for it.
#include "os/fault.h"
#include "posix_locks/locks.h"

#include <cerrno>
#include <cstddef>
#include <mutex>
#include <vector>

namespace thrum::test {
namespace {

// For as long as it lives. On a goroutine, which is at home until it ends.
class no_records {
 public:
  no_records() : taken_by_(more_than_a_chunk_has) {
    taken_by_[0].lock();  // there is a chunk
    taken_by_[0].unlock();
    rt::os::inject_fault(rt::os::call::mmap, ENOMEM, 0, rt::os::fault_for_good);
    while (taken_ < more_than_a_chunk_has && ::pthread_mutex_lock(taken_by_[taken_].native_handle()) == 0) ++taken_;
    EXPECT_GT(taken_, 0U);
    EXPECT_LT(taken_, more_than_a_chunk_has);
  }
  ~no_records() {
    rt::os::clear_faults();
    while (taken_ > 0) taken_by_[--taken_].unlock();
  }
  no_records(no_records const&) = delete;
  no_records& operator=(no_records const&) = delete;

 private:
  static constexpr std::size_t more_than_a_chunk_has = 10'000;
  std::vector<std::recursive_mutex> taken_by_;
  std::size_t taken_ = 0;
};

// At one P: a thread that had to be made now would be the end of the program.
TEST(posix_locks_without_memory, T08_a_waiter_that_cannot_have_the_mutex_passes_it_on) {
  THRUM_SKIP_SO_MANY_MUTEXES();
  run_at(1, [] {
    leave_m0();
    mutex_of_kind guarded(PTHREAD_MUTEX_RECURSIVE);
    std::atomic<int> step{0};
    partner const owner([&] {
      guarded.lock();
      step = 1;
      EXPECT_TRUE(spin_until([&] { return step == 2; }));
      guarded.unlock();
    });
    ASSERT_TRUE(wait_until([&] { return step == 1; }));
    std::atomic<int> refused{0};
    wait_group all;
    for (int i = 0; i < 3; ++i) {
      all.go([&] {
        EXPECT_EQ(::pthread_mutex_lock(guarded.get()), EAGAIN);
        ++refused;
      });
    }
    ASSERT_TRUE(until_waiting(rt::wait_reason::mutex, 3));
    all.go([&] {
      no_records const from_here_on;
      step = 2;
      EXPECT_TRUE(wait_until([&] { return refused == 3; })) << refused << " of 3";
    });
    all.wait();
    EXPECT_TRUE(wait_until([] { return no_goroutine_is_at_home(); }));
  });
}

TEST(posix_locks_without_memory, T08_a_wait_for_a_condition_ends_with_the_mutex) {
  THRUM_SKIP_SO_MANY_MUTEXES();
  run_at(1, [] {
    leave_m0();
    mutex_of_kind guarded(PTHREAD_MUTEX_RECURSIVE);
    pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
    std::atomic<bool> is_back{false};
    wait_group all;
    all.go([&] {
      guarded.lock();
      EXPECT_EQ(::pthread_cond_wait(&changed, guarded.get()), 0);
      is_back = true;
      guarded.unlock();
    });
    ASSERT_TRUE(until_waiting(rt::wait_reason::condition_variable, 1));
    all.go([&] {
      {
        no_records const from_here_on;
        EXPECT_EQ(::pthread_cond_signal(&changed), 0);
        for (int i = 0; i < 100; ++i) thrum::yield();
        EXPECT_FALSE(is_back);
      }
      EXPECT_TRUE(wait_until([&] { return is_back.load(); }));
    });
    all.wait();
    EXPECT_TRUE(wait_until([] { return no_goroutine_is_at_home(); }));
  });
}

}  // namespace
}  // namespace thrum::test
