// Lets a thread that is no M use the memory of a run, until the run ends.
#pragma once

#include "base/atomic.h"
#include "os/short_wait.h"

#include <cstdint>

namespace thrum::rt {

class run_gate {
 public:
  enum class at_first : bool { is_open, is_closed };
  explicit run_gate(at_first how = at_first::is_open) noexcept
      : state_(how == at_first::is_open ? state::open : state::closed) {}
  // A gate that was closed at first.
  void open() noexcept { state_.store(state::open, release); }  // pairs with try_enter

  // For one thread. False: the run is about to end, and must not be used.
  [[nodiscard]] bool try_enter() noexcept {
    auto expected = state::open;
    return state_.compare_exchange(expected, state::used, acquire, relaxed);  // pairs with leave
  }
  void leave() noexcept { state_.store(state::open, release); }  // pairs with close

  // Returns false if the run is used at this moment. Otherwise it is not used from then on.
  [[nodiscard]] bool try_close() noexcept {
    auto expected = state::open;
    return state_.compare_exchange(expected, state::closed, acquire, relaxed);  // pairs with leave
  }

  [[nodiscard]] bool is_used() const noexcept { return state_.load(acquire) == state::used; }
  [[nodiscard]] bool is_closed() const noexcept { return state_.load(acquire) == state::closed; }

  // For the end of the run. Waits until the run is not used.
  void close() noexcept {
    os::short_wait wait;
    for (auto expected = state::open; !state_.compare_exchange(expected, state::closed, acquire, relaxed);
         expected = state::open)
      wait.pause();
  }

 private:
  enum class state : std::uint8_t { open, used, closed };
  atomic<state> state_;
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
