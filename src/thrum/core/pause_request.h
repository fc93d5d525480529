// What sysmon and the signal handler of a thread tell each other about a pause (sys/preempt.h, sys/slices.h).
//
// sysmon says where the thread may be stopped and which slice the request is about, and then sends the signal. The
// handler, on the thread itself, counts that the signal came. All accesses are relaxed. The signal orders what comes
// before it, and a handler that reads too early leaves the request unanswered, so sysmon asks once more.
#pragma once

#include "base/atomic.h"
#include "base/heuristics.h"

#include <cstdint>

namespace thrum::rt {

// Where a goroutine that is to be paused may be stopped: in the code named here, and in all that precede it in the
// list. Usually that is the program's code alone (T03).
enum class pause_in : std::uint8_t { program, vdso, libc };

class pause_request {
 public:
  // --- sysmon, or a thread that acts as sysmon does ---

  // The request is about the slice that has this schedtick on the M's P.
  void ask_for(std::uint32_t tick) noexcept { tick_.store(tick, relaxed); }
  void set_reach(pause_in reach) noexcept { reach_.store(reach, relaxed); }
  // How often the handler has run. It changes when a request has arrived, wherever the thread was found.
  [[nodiscard]] std::uint32_t answers() const noexcept { return answers_.load(relaxed); }
  // Whether the handler has found the thread leaving a system call recently.
  [[nodiscard]] bool makes_calls() const noexcept { return makes_calls_.load(relaxed) != 0; }

  // --- the thread itself ---

  [[nodiscard]] bool is_about(std::uint32_t tick) const noexcept { return tick_.load(relaxed) == tick; }
  [[nodiscard]] bool reaches(pause_in place) const noexcept { return place <= reach_.load(relaxed); }
  void note_answer() noexcept { owner_add(answers_, 1U); }
  // The handler has found the thread in the C library, leaving a system call or not.
  void note_call(bool is_leaving_one) noexcept {
    std::uint8_t const so_far = makes_calls_.load(relaxed);
    if (is_leaving_one) {
      makes_calls_.store(asking::answers_until_call_is_forgotten, relaxed);
    } else if (so_far != 0) {
      makes_calls_.store(static_cast<std::uint8_t>(so_far - 1), relaxed);
    }
  }

 private:
  atomic<pause_in> reach_{pause_in::program};
  atomic<std::uint32_t> tick_{0};
  atomic<std::uint32_t> answers_{0};
  atomic<std::uint8_t> makes_calls_{0};
};

}  // namespace thrum::rt
