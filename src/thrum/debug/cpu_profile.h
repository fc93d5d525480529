// The CPU profile of a run: which goroutines compute, and where.
//
// A thread of its own gives every thread of the process a timer on its CPU clock, also threads that are made later, and
// threads that thrum did not make. It empties the buffers of the samples (sys/cpu_samples.h) and counts equal samples.
// Names are looked up when the profile is written.
//
// Thread safety: start() and stop() may be called on any thread, outside of the runtime.
#pragma once

#include "base/atomic.h"
#include "base/random.h"
#include "debug/symbols.h"
#include "os/note.h"
#include "os/sample_signal.h"
#include "os/thread.h"
#include "sys/cpu_samples.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

namespace thrum::rt {

struct Sched;

// What was sampled between start() and stop().
struct cpu_samples {
  // The number of periods by the bytes of a cpu_sample whose count is 0, without its unused frames.
  std::unordered_map<std::string, std::uint64_t> periods;
  std::int64_t period_ns = 0;
  std::int64_t duration_ns = 0;
  std::uint64_t lost_periods = 0;       // there was no room for them
  std::uint64_t broken_stacks = 0;      // samples in which a fault has ended the walk of the stack
  std::uint64_t threads_left_out = 0;   // no timer could be made for them
  int timer_error = 0;                  // the errno of the last of these
  bool has_stacks = true;               // otherwise a sample is one address
  bool goroutines_are_grouped = false;  // of part of the samples the ids are not known, because there were too many
};

class cpu_profile {
 public:
  static constexpr int per_second_max = 1000;

  explicit cpu_profile(Sched& s) noexcept : sched_(s) {}
  ~cpu_profile();
  cpu_profile(cpu_profile const&) = delete;
  cpu_profile& operator=(cpu_profile const&) = delete;

  enum class outcome : std::uint8_t { done, already_on, failed };
  struct start_result {
    outcome how;
    int error = 0;             // failed: the errno
    char const* call = "";     // failed: what could not be done
    std::uint32_t number = 0;  // done: of this profile, for stop
  };
  [[nodiscard]] start_result start(int per_second);

  // Returns false if no profile is being taken, or another one than that with the number.
  static constexpr std::uint32_t any_number = 0;
  [[nodiscard]] bool stop(cpu_samples& taken, std::uint32_t number = any_number);
  // For a thread with which the program ends. If no profile is being taken, `taken` is left as it is. Returns false if the
  // thread of the profile has not ended within the time.
  [[nodiscard]] bool stop_before_death(cpu_samples& taken, std::int64_t patience_ns) noexcept;

  // Whether start() or stop() is under way. If its caller was stopped with the run, it stays so for good.
  [[nodiscard]] bool is_changing() const noexcept {
    state const now = state_.load(acquire);
    return now == state::starting || now == state::stopping;
  }
  // Whether a signal that would end the program may come after the end of the run.
  [[nodiscard]] bool may_leave_signals() const noexcept;
  // At the end of the run, after stop(): restores what start() has changed.
  void let_go_of_signal() noexcept;

  cpu_profile* next_left_behind = nullptr;  // boot/profile_of_run.cpp

 private:
  enum class state : std::uint8_t { idle, starting, on, stopping };
  // A timer and its buffer; its number is its index.
  struct watched {
    int tid = 0;  // 0: they are free
    sampled_thread* buffer = nullptr;
    os::sample_timer timer{};
  };

  [[nodiscard]] bool begin_stop(std::uint32_t number) noexcept;
  void end_stop(cpu_samples& taken) noexcept;
  [[nodiscard]] start_result begin(int per_second);
  [[nodiscard]] int take_signal() noexcept;
  static void* thread_main(void* self);
  void collect_until_stopped();
  void watch_threads();
  void watch(int tid);
  [[nodiscard]] std::size_t free_one();
  void stop_timers() noexcept;
  void read(watched& its);
  void read_samples();
  void count(cpu_sample& found);

  Sched& sched_;
  int const process_ = os::process_id();
  atomic<state> state_{state::idle};
  atomic<std::uint32_t> number_{any_number};
  atomic<bool> was_on_{false};
  bool owns_signal_ = false;
  os::thread thread_{};
  int tid_ = 0;
  os::note asked_to_end_;

  // of the profile that is being taken
  std::deque<watched> watched_;
  std::vector<int> tids_;  // reused by each round
  int threads_seen_ = 0;
  cpu_samples taken_;
  std::int64_t began_ns_ = 0;
  random_source random_{0};
};

// The file for `go tool pprof`. Runs where debug/symbols.h allows that.
[[nodiscard]] std::string profile_of_cpu(cpu_samples const& taken, symbols& known);

}  // namespace thrum::rt
