// sysmon: a thread without a P that looks at the Ps from outside (S16; Go's sysmon).
//
// It sleeps between two looks: 20 us as long as there is something to do, then ever longer, up to 10 ms. When it has seen
// nothing happen at all and every P is idle it sleeps until a P is taken into use again: an idle program makes no system
// call. It takes no P, allocates nothing and runs no user code.
//
// What it looks for: a goroutine that stays in a P's runnext while its readier runs on, beside an idle P (see
// sched/wake.h). With one P there is nothing to look for, and no thread.
#pragma once

#include "core/sched.h"
#include "os/thread.h"

namespace thrum::rt {

class sysmon {
 public:
  // Starts the thread. Throws std::system_error when it cannot.
  explicit sysmon(Sched& s);
  sysmon(sysmon const&) = delete;
  sysmon& operator=(sysmon const&) = delete;
  ~sysmon() { stop(); }

  // Returns when the thread has ended.
  void stop() noexcept;

 private:
  static void* thread_main(void* self);
  void watch() noexcept;
  [[nodiscard]] bool look() noexcept;
  [[nodiscard]] bool may_sleep_deeply() noexcept;

  // What was seen at a P the last time.
  struct sighting {
    entry_bits next = 0;
    std::uint64_t switches = 0;
  };

  Sched& sched_;
  os::thread thread_{};
  atomic<bool> stopping_{false};
  bool all_still_ = false;  // nothing moved between the last two looks
  std::unique_ptr<sighting[]> seen_;
};

}  // namespace thrum::rt
