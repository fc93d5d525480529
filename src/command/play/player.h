// The goroutines of a scenario that is being run, and the thread that watches over them.
//
// The watcher is no goroutine, so the recording does not show it. Every few milliseconds it looks whether the scenario
// has to be stopped: because its time is over, because a goroutine has reached a limit, or because of a deadlock. It
// then ends the trace, closes the channels, so that the goroutines leave, and lets the main goroutine go on.
//
// The watcher uses the runtime only while it holds mutex_ and the run has not finished, because a thread that is inside
// a call of thrum when the run ends stays there for good.
#pragma once

#include "command/play/performance.h"
#include "command/play/scenario.h"
#include <thrum/chan.h>
#include <thrum/detail/atomic.h>
#include <thrum/mutex.h>
#include <thrum/wait_group.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

namespace thrum::command {

class player {
 public:
  explicit player(scenario const& what);

  // On the main goroutine.
  void play(std::string const& trace_path);
  // On the thread that watches. Returns when `finish` was called.
  void watch();
  // The run is about to end, or could not begin.
  void finish();

  [[nodiscard]] performance take() const;
  // Goroutines that the end of the run has stopped refer to this object.
  [[nodiscard]] bool has_left_goroutines() const { return living_.load(detail::acquire) != 0; }

 private:
  struct actor {
    detail::atomic<statement const*> at{nullptr};
    detail::atomic<std::uint64_t> id{0};
    detail::atomic<bool> has_ended{false};
    detail::atomic<std::size_t> body{0};
  };
  class in_operation;

  // These return false if the goroutine is to end.
  bool start(std::size_t body, int count);
  bool perform_all(actor& me, std::vector<statement> const& all);
  bool perform_one(actor& me, statement const& one);
  bool send(actor const& me, statement const& one);
  bool close(actor const& me, statement const& one);
  bool lock(actor& me, statement const& one);
  [[nodiscard]] std::string told_of(actor const& me, statement const& one, char const* did, char const* why_not) const;
  [[nodiscard]] std::string name_of(actor const& one) const;

  void act(actor& me);
  void spin(std::chrono::nanoseconds length) const;
  void leave();
  void tell_main();
  void watch_until_finished();
  [[nodiscard]] bool goes_on() const { return !is_stopping_.load(detail::acquire); }  // pairs with conclude()

  // The first one decides.
  void conclude(ending how, std::string why);
  void note_end(std::chrono::steady_clock::time_point when);
  [[nodiscard]] bool has_to_stop();
  [[nodiscard]] bool is_stuck();
  void stop();
  void note_those_left();

  scenario const& what_;
  std::vector<chan<int>> channels_{};
  chan<int> nothing_{};  // on which no goroutine sends
  std::deque<mutex> mutexes_;
  std::array<actor, scenario_goroutines_max> actors_{};
  detail::atomic<int> started_{0};
  detail::atomic<int> living_{0};  // main is one of them while it starts the others
  detail::atomic<int> statements_{0};
  detail::atomic<int> in_operations_{0};         // goroutines that may wait for others
  detail::atomic<std::uint64_t> operations_{0};  // how many have begun, and how many have ended
  std::uint64_t operations_seen_ = 0;            // by the watcher
  detail::atomic<bool> is_stopping_{false};
  detail::atomic<bool> main_is_told_{false};
  wait_group over_{};

  std::mutex mutex_{};
  std::condition_variable changed_{};
  bool has_begun_ = false;
  bool is_finished_ = false;
  std::chrono::steady_clock::time_point end_{};

  std::mutex mutable of_result_{};
  performance result_{};
};

}  // namespace thrum::command
