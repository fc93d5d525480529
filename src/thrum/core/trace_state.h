// What a run has for its traces: the chunks, the streams of threads without a P, and whether events are wanted.
#pragma once

#include "base/atomic.h"
#include "base/platform.h"
#include "core/observer.h"
#include "core/trace_stream.h"

#include <array>
#include <cstdint>

namespace thrum::rt {
struct M;
struct P;
}  // namespace thrum::rt

namespace thrum::rt::trace {

class recorder;
class writer;

// see core/trace.h
namespace note {
void m_changed(M& m) noexcept;  // also if events are not wanted
void p_taken(M const& m, P& p) noexcept;
void p_released(M const& m, P& p, release_detail why) noexcept;
}  // namespace note

// Whether the run that is alive has a trace that is on, for threads that do not know it.
inline constinit atomic<bool> some_trace_is_on{false};

// The observer of the run that was begun last and has one.
inline constinit atomic<observer*> its_observer{nullptr};

class trace_state {
 public:
  trace_state() noexcept {
    std::uint16_t number = first_loose_stream;
    for (loose& l : loose_) l.its = stream(number++);
  }
  // Any thread, at every event. is_on: a trace or an observer wants events. is_written: a trace does. relaxed: events
  // that race with the beginning or the end of a trace may be in it or not.
  [[nodiscard]] bool is_on() const noexcept { return (wanted_.load(relaxed) & events) != 0; }
  [[nodiscard]] bool is_written() const noexcept { return (wanted_.load(relaxed) & written) != 0; }
  void turn_on() noexcept {
    wanted_.fetch_or(events | written, release);
    some_trace_is_on.store(true, relaxed);
  }
  void turn_off() noexcept {
    std::uint8_t const ended = is_observed() ? written : events | written;
    wanted_.fetch_and(static_cast<std::uint8_t>(~ended), relaxed);
    some_trace_is_on.store(false, relaxed);
  }

  // The observer is told of all events from here on. It must outlive the run.
  void observe(observer& of_this_run) noexcept {
    its_observer.store(&of_this_run, relaxed);
    wanted_.fetch_or(events | observed_too, release);  // pairs with is_observed
  }
  [[nodiscard]] bool is_observed() const noexcept { return (wanted_.load(acquire) & observed_too) != 0; }
  void tell_observer(observed const& event) const noexcept { its_observer.load(relaxed)->saw(event); }
  void wait_at_gate(gate where) const noexcept { its_observer.load(relaxed)->at_gate(where); }

  // Whether it is measured how long goroutines wait (stats::waits). It stands here so that a goroutine that parks tests
  // one word for it and for events. relaxed: waits that race with a change may be measured or not.
  [[nodiscard]] bool measures_waits() const noexcept { return (wanted_.load(relaxed) & wait_times) != 0; }
  [[nodiscard]] bool notes_waits() const noexcept { return wanted_.load(relaxed) != 0; }
  // Returns whether it was measured before.
  bool measure_waits(bool on) noexcept {
    std::uint8_t const before =
        on ? wanted_.fetch_or(wait_times, relaxed) : wanted_.fetch_and(static_cast<std::uint8_t>(~wait_times), relaxed);
    return (before & wait_times) != 0;
  }

  // The chunks are for one trace at a time: that of the writer or that of the recorder (debug/trace_turn.h).
  [[nodiscard]] bool try_claim() noexcept { return !is_claimed_.exchange(true, acquire); }  // pairs with the next
  void give_back_claim() noexcept { is_claimed_.store(false, release); }

  chunk_pool chunks;
  // of a higher layer (debug/), fixed while the run is alive
  trace::writer* its_writer = nullptr;
  trace::recorder* its_recorder = nullptr;

  // Calls write(stream&) with a stream that no other thread uses meanwhile. If all are in use, which takes sixteen
  // threads without a P at the same moment, the event is lost and counted.
  template <class Write>
  void with_loose_stream(Write write) noexcept {
    for (loose& l : loose_) {
      if (l.is_used.load(relaxed) || l.is_used.exchange(true, acquire)) continue;  // pairs with the release below
      write(l.its);
      l.is_used.store(false, release);
      return;
    }
    chunks.count_lost();
  }

  // Every loose stream leaves its chunk, so that others can read it. All of them do so at the same moment. Otherwise a
  // thread could write an event to a stream that has left its chunk, and the next event about the same goroutine to one
  // that has not. Events of that moment, which lasts for microseconds, are lost and counted. Called by one thread at a
  // time.
  void close_loose_streams() noexcept;

 private:
  struct alignas(cache_line_bytes) loose {
    atomic<bool> is_used{false};
    stream its{0};
  };
  static constexpr std::uint8_t events = 1;
  static constexpr std::uint8_t wait_times = 2;
  static constexpr std::uint8_t written = 4;
  static constexpr std::uint8_t observed_too = 8;
  atomic<std::uint8_t> wanted_{0};
  atomic<bool> is_claimed_{false};
  std::array<loose, loose_streams> loose_;
};

}  // namespace thrum::rt::trace
