// The thread that makes threads.
//
// Making one allocates and takes locks of the C library. An M that needs another one is inside the runtime, where it must not
// wait for a lock that a goroutine holds whose turn may depend on it (T01); sysmon and signal handlers must not either. So
// they leave the new M, which has its P already, in a list and ring. Nobody waits for the thread: it comes when it can. But if
// goroutines are paused, perhaps with such a lock, a P is not given to the unborn, or is taken back from them: see start_m_locked and
// get_p_in_user_code.
//
// It also asks the kernel for bytes of files on behalf of goroutines that wait for them: sched/ring_asker.h.
#pragma once

#include "core/sched.h"
#include "os/thread.h"

namespace thrum::rt {

class thread_maker {
 public:
  // Starts it. Throws std::system_error when it cannot.
  explicit thread_maker(Sched& s);
  thread_maker(thread_maker const&) = delete;
  thread_maker& operator=(thread_maker const&) = delete;
  ~thread_maker() { stop(); }

  // When it returns no thread is made any more.
  void stop() noexcept;

 private:
  static void* thread_main(void* self);
  void make_threads() noexcept;
  struct orders {
    M* unborn;
    bool spare;
  };
  [[nodiscard]] orders take_orders() noexcept;
  [[nodiscard]] std::int64_t look_at_those_that_end() noexcept;
  void look_at_those_that_left(bool gives_up) noexcept;
  void bury_those_that_ended(bool gives_up) noexcept;

  Sched& sched_;
  os::thread thread_{};
  int tid_ = 0;
  atomic<bool> stopping_{false};
  bool runs_ = false;
  os::note ended_;
  ended_threads leaving_;          // the kernel lists them still
  M* ending_ = nullptr;            // their threads, by idle_link
  std::int64_t last_left_ns_ = 0;  // of both
  bool stays_ = false;             // its thread, for good: written before the note is woken. See end_ring
};

// Something is in sched.unborn_ms or ended_ms, a spare thread is wanted, a cold read is queued, or an errand is to be done.
// Anybody.
void ring_thread_maker(Sched& s) noexcept;

}  // namespace thrum::rt
