// The thread that makes threads.
//
// Making a thread allocates and takes locks of the C library. An M that needs another M is inside the runtime, where it
// must not wait for a lock of a goroutine whose turn may depend on this M (T01). The same holds for sysmon and signal
// handlers. So they put the new M, which already has its P, into a list and notify the thread maker. No thread waits
// for the new thread: it comes when it can. But if goroutines are paused, perhaps while they hold such a lock, a P is
// not given to an M whose thread is being made, or is taken back from it: see start_m_locked and get_p_in_user_code.
//
// The thread maker also asks the kernel for bytes of files on behalf of goroutines that wait for them:
// sched/uring_submit.h.
#pragma once

#include "core/sched.h"
#include "os/thread.h"

namespace thrum::rt {

class thread_maker {
 public:
  // Starts the thread. Throws std::system_error if that fails.
  explicit thread_maker(Sched& s);
  thread_maker(thread_maker const&) = delete;
  thread_maker& operator=(thread_maker const&) = delete;
  ~thread_maker() { stop(); }

  // After the return no thread is made.
  void stop() noexcept;

 private:
  static void* thread_main(void* self);
  void make_threads() noexcept;
  struct orders {
    ordered_ms starting;
    bool spare;
  };
  [[nodiscard]] orders take_orders() noexcept;
  [[nodiscard]] std::int64_t look_at_ending_ms() noexcept;
  void look_at_ended_foreign_threads(bool gives_up) noexcept;
  void join_ended_threads(bool gives_up) noexcept;

  Sched& sched_;
  os::thread thread_{};
  int tid_ = 0;
  atomic<bool> stopping_{false};
  bool runs_ = false;
  os::note ended_;
  ended_threads leaving_;          // foreign threads that are ending; the kernel lists them
  m_list<&M::join_link> ending_;   // Ms whose threads are ending
  std::int64_t last_left_ns_ = 0;  // when one of both kinds was last added
  bool stays_ = false;             // its thread sleeps for good (see shut_down_uring); written before the note is woken
};

}  // namespace thrum::rt
