// S40: there are never more goroutines in user code than Ps. The one exception is counted in Sched::unannounced: a
// thread that came back from an unannounced call runs without a P until its next use of the runtime or sysmon's next
// look.
#include "core/current.h"
#include "os/barrier.h"
#include "support/child.h"
#include "support/goroutines.h"
#include "support/hogs.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/slices.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using test::preempted;
using test::run_at;
using test::with_slices_of;

struct in_user_code {
  int by_right = 0;
  int without_p = 0;  // the exception; most of them still sleep in the kernel
};

in_user_code look_locked(rt::Sched const& s) {
  in_user_code seen;
  for (rt::M const& m : s.ms.all()) {
    if (rt::hint_of(m.current) == nullptr || m.in_runtime.load(rt::acquire)) continue;
    std::uint32_t const attention =
        m.attention.load(rt::acquire);  // pairs with take_p_of_sleeper: it was counted before
    if ((attention & rt::m_attend::unannounced) != 0) {
      ++seen.without_p;
    } else if ((attention & rt::m_attend::away) == 0) {  // else it is in a call that was announced
      ++seen.by_right;
    }
  }
  return seen;
}

bool is_kept(rt::Sched const& s, in_user_code const& seen) {
  return seen.by_right <= s.procs.size() && seen.without_p <= s.unannounced.without_p();
}

// Called with sched.lock held. No P changes its owner meanwhile, because a thread that pauses a goroutine, hands a P
// off, takes an idle P or takes a P from an M in a system call needs the lock. But the stores of an M that leaves the
// runtime are unordered, so this thread may see that the M has left before it sees that the M is away or has a P. The
// barrier orders the stores, so the result of the second look is right.
bool is_broken_locked(rt::Sched const& s) {
  if (is_kept(s, look_locked(s))) return false;
  rt::os::barrier_in_all_threads();
  return !is_kept(s, look_locked(s));
}

// Looks again and again, on a thread of its own.
class sampler {
 public:
  explicit sampler(rt::Sched& s) : thread_([this, &s] { sample(s); }) {}
  sampler(sampler const&) = delete;
  sampler& operator=(sampler const&) = delete;
  ~sampler() {
    stop_ = true;
    blocking([&] { thread_.join(); });
  }

  [[nodiscard]] int most_by_right() const { return most_by_right_; }
  [[nodiscard]] int most_without_p() const { return most_without_p_; }

 private:
  void sample(rt::Sched& s) {
    while (!stop_) {
      {
        rt::os::lock_guard const guard(s.lock);
        in_user_code const now = look_locked(s);
        if (!is_kept(s, now)) {
          EXPECT_FALSE(is_broken_locked(s)) << now.by_right << " by right, " << now.without_p << " without a P";
        }
        most_by_right_ = std::max(most_by_right_.load(), now.by_right);
        most_without_p_ = std::max(most_without_p_.load(), now.without_p);
      }
      rt::os::yield_thread();
    }
  }

  std::atomic<bool> stop_{false};
  std::atomic<int> most_by_right_{0};
  std::atomic<int> most_without_p_{0};
  std::thread thread_;
};

class parallelism : public test::at_every_width {};
THRUM_AT_WIDTHS(parallelism, 1, 2, 8);

TEST_P(parallelism, S40_no_more_than_max_procs_goroutines_are_in_user_code) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  with_slices_of const slices(500us);
  run([] {
    sampler const seen(test::this_sched());
    wait_group all;
    int const hogs = 3 * procs();
    auto const each = std::chrono::milliseconds(test::scaled(150, 60)) / hogs;
    for (int i = 0; i < hogs; ++i) {
      all.go([each] { test::compute_for(each); });
    }
    all.wait();
    bool const has_delays = rt::with_tsan || test::emulated() || std::getenv("THRUM_CHAOS") != nullptr;
    EXPECT_GE(seen.most_by_right(), has_delays ? 1 : std::min(procs(), 2)) << "it does see them";
    EXPECT_GT(preempted(read_stats()), 0U);
  });
}

// What happens to Ps of goroutines in the kernel.
struct ways {
  std::uint64_t handed_off = 0;
  std::uint64_t returned = 0;  // to another P than theirs
  std::uint64_t retaken = 0;
  std::uint64_t unannounced = 0;
};

ways ways_gone() {
  stats const now = read_stats();
  ways all{.retaken = now.retaken, .unannounced = now.unannounced};
  for (proc_stats const& p : now.procs) {
    all.handed_off += p.handed_off;
    all.returned += p.returns_to_idle + p.returns_queued;
  }
  return all;
}

// Some goroutines compute, some make short calls, some make long ones, and some sleep in the kernel in unannounced
// calls and compute afterwards. So Ps are left behind, taken, handed off and returned to. The test runs until each of
// that has happened.
TEST_P(parallelism, S40_nor_are_there_more_beside_goroutines_in_the_kernel) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  with_slices_of const slices(500us);
  run([] {
    std::atomic<bool> stop{false};
    wait_group all;
    auto const again_and_again = [&](auto step) {
      for (int i = 0; i < 1 + procs() / 2; ++i) {
        all.go([&stop, step] {
          while (!stop) step();
        });
      }
    };
    {
      sampler const seen(test::this_sched());
      again_and_again([] { test::compute_for(200us); });
      again_and_again([] {
        blocking([] { ::usleep(100); });
        test::compute_for(50us);
      });
      again_and_again([] {
        blocking([] { ::usleep(500); }, blocking_hint::long_call);
        test::compute_for(50us);
      });
      again_and_again([] {
        ::usleep(2'000);
        test::compute_for(2ms);  // without a P at first
      });
      auto const until = clock::now() + std::chrono::milliseconds(test::scaled(300, 100));
      auto const enough = [&] {
        ways const gone = ways_gone();
        return clock::now() > until && gone.handed_off > 0 && gone.returned > 0 && gone.retaken > 0 &&
               gone.unannounced > 0 && seen.most_without_p() > 0;
      };
      EXPECT_TRUE(test::wait_until([&] {
        sleep_for(1ms);
        return enough();
      }));
      EXPECT_GT(seen.most_by_right(), 0);
    }
    stop = true;
    all.wait();
  });
}

}  // namespace
}  // namespace thrum
