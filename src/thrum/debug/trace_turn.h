// Who records events, and how far that has got. The writer and the recorder have one of these each.
//
//   stage      meaning                                next
//   off        this one does not record               starting
//   starting   a thread sets everything up            on, or off if that fails
//   on         events are recorded                    stopping
//   stopping   a thread takes everything down         off
//
// At most one of the two is not off, because the chunks of a run are for one trace at a time. No call waits: of two
// threads that want to start or to stop at the same time, one is told that it cannot.
#pragma once

#include "base/atomic.h"
#include "core/trace_state.h"
#include "os/thread.h"

#include <cstdint>

namespace thrum::rt::trace {

class trace_turn {
 public:
  explicit trace_turn(trace_state& events) noexcept : events_(events) {}
  trace_turn(trace_turn const&) = delete;
  trace_turn& operator=(trace_turn const&) = delete;

  // From off by way of starting to on. begin() sets everything up, and returns whether it could. If it could not, the
  // stage is off again. Does not call it if a trace is being written or recorded.
  template <class Begin>
  void start(Begin begin) {
    if (!events_.try_claim()) return;
    stage_.store(stage::starting, relaxed);
    if (!begin()) return is_over();
    events_.turn_on();
    stage_.store(stage::on, release);  // pairs with try_stop and is_on: everything is set up
  }

  // From on to stopping. No more events are recorded. False: it is not on.
  [[nodiscard]] bool try_stop() noexcept {
    auto expected = stage::on;
    if (!is_of_this_process() || !stage_.compare_exchange(expected, stage::stopping, acquire, relaxed)) return false;
    events_.turn_off();
    return true;
  }

  // From stopping to off, or from starting to off if that has failed.
  void is_over() noexcept {
    stage_.store(stage::off, relaxed);
    events_.give_back_claim();  // the next start sees everything that was done
  }

  [[nodiscard]] bool is_on() const noexcept { return stage_.load(acquire) == stage::on && is_of_this_process(); }
  [[nodiscard]] bool is_stopping() const noexcept {
    return stage_.load(acquire) == stage::stopping && is_of_this_process();
  }
  // If the thread that starts or stops was itself stopped with the run, it stays so for good.
  [[nodiscard]] bool is_changing() const noexcept {
    stage const now = stage_.load(acquire);
    return now == stage::starting || now == stage::stopping;
  }

 private:
  enum class stage : std::uint8_t { off, starting, on, stopping };

  // A child of fork has none of the threads that record.
  [[nodiscard]] bool is_of_this_process() const noexcept { return os::process_id() == process_; }

  trace_state& events_;
  int const process_ = os::process_id();
  atomic<stage> stage_{stage::off};
};

}  // namespace thrum::rt::trace
