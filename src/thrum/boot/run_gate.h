// Lets a thread that is no M use the memory of a run, until the run ends.
#pragma once

#include "base/atomic.h"
#include "os/short_wait.h"

#include <cstdint>

namespace thrum::rt {

class run_gate {
 public:
  // For one thread. False: the run is about to end, and must not be used.
  [[nodiscard]] bool try_enter() noexcept {
    auto expected = state::open;
    return state_.compare_exchange(expected, state::used, acquire, relaxed);  // pairs with leave
  }
  void leave() noexcept { state_.store(state::open, release); }  // pairs with close

  // For the end of the run. Waits until the run is not used.
  void close() noexcept {
    os::short_wait wait;
    for (auto expected = state::open; !state_.compare_exchange(expected, state::closed, acquire, relaxed);
         expected = state::open)
      wait.pause();
  }

 private:
  enum class state : std::uint8_t { open, used, closed };
  atomic<state> state_{state::open};
};

class [[nodiscard]] in_run {
 public:
  explicit in_run(run_gate& gate) noexcept : gate_(gate), is_in_(gate.try_enter()) {}
  ~in_run() {
    if (is_in_) gate_.leave();
  }
  in_run(in_run const&) = delete;
  in_run& operator=(in_run const&) = delete;

  explicit operator bool() const noexcept { return is_in_; }

 private:
  run_gate& gate_;
  bool const is_in_;
};

}  // namespace thrum::rt
