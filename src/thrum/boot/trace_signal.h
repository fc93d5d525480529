// The signal that begins and ends traces: THRUM_TRACE_SIGNAL. The handler only wakes a thread, which does the rest.
#pragma once

#include "core/sched.h"
#include "os/thread.h"

#include <cstdint>

namespace thrum::rt {

// A number, or a name such as USR2 or SIGUSR2. Throws std::invalid_argument for anything else.
[[nodiscard]] int signal_number_of(char const* text);

class trace_signal {
 public:
  // Calls answer(argument) on a thread of its own, once for each signal. Throws std::system_error if there is no thread
  // for it, and std::runtime_error if the program handles the signal itself.
  trace_signal(Sched& s, int number, void (*answer)(void*) noexcept, void* argument);
  // Waits for an answer that is under way.
  ~trace_signal();
  trace_signal(trace_signal const&) = delete;
  trace_signal& operator=(trace_signal const&) = delete;

 private:
  static void* thread_main(void* self);
  void answer_until_end();

  Sched& sched_;
  int const process_ = os::process_id();
  void (*const answer_)(void*) noexcept;
  void* const argument_;
  os::thread thread_{};
  int tid_ = 0;
};

}  // namespace thrum::rt
