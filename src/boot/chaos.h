// A thread that stops the world again and again, at random moments: THRUM_CHAOS_STOPS=1 beside THRUM_CHAOS=SEED (os/chaos.h), in
// builds with checks.
#pragma once

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
  void stop_the_world_now_and_then() noexcept;

  Sched& sched_;
  std::uint64_t seed_ = 0;
  os::thread thread_{};
  atomic<bool> stopping_{false};
  bool runs_ = false;
};

}  // namespace thrum::rt
