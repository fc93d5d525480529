// A thread that disturbs the scheduler at random moments, in builds with checks, together with THRUM_CHAOS=SEED
// (os/chaos.h):
//
//   THRUM_CHAOS_STOPS=1      stops the world, every two milliseconds at most
//   THRUM_CHAOS_RESIZE=1     stops the world too, and sets the number of Ps to between one and twice the number at the
//                            start, if that was more than one
//   THRUM_CHAOS_PREEMPT=N    a storm of preemptions: every 50 to 500 us, some goroutine that computes gets the signal,
//                            or one that is in the runtime is asked to pause when it leaves
#pragma once

#include "base/random.h"
#include "core/sched.h"
#include "os/thread.h"

namespace thrum::rt {

class chaos {
 public:
  explicit chaos(Sched& s) noexcept;
  ~chaos() { stop(); }
  chaos(chaos const&) = delete;
  chaos& operator=(chaos const&) = delete;

  void stop() noexcept;

 private:
  static void* thread_main(void* self);
  void make_disorder() noexcept;
  void preempt_one_m() noexcept;
  void stop_world() noexcept;
  void sleep_for(std::int64_t ns) noexcept;

  Sched& sched_;
  random_source random_{0};
  os::thread thread_{};
  int tid_ = 0;
  atomic<bool> stopping_{false};
  bool runs_ = false;
  bool stops_ = false;
  int procs_max_ = 0;  // 0: the number of Ps does not change
  bool storms_ = false;
};

}  // namespace thrum::rt
