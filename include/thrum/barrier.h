// barrier: a number of goroutines wait for each other at the end of each phase, like std::barrier.
//
//   thrum::barrier step(4, []() noexcept { swap_buffers(); });
//   for (int i = 0; i < 4; ++i) {
//     all.go([&, i] {
//       for (int round = 0; round < 100; ++round) { compute(i); step.arrive_and_wait(); }
//     });
//   }
//
// The goroutine that arrives last runs the completion function, before any waiter goes on, and begins the next phase.
// arrive and arrive_and_drop are one atomic operation and never switch to another goroutine, unless the completion
// function does. wait parks the goroutine. When wait returns, everything that happened before the arrivals is visible,
// and the barrier may be destroyed if no goroutine will arrive. More arrivals than expected end the program.
#pragma once

#include <thrum/detail/at_least_cxx20.h>
#include <thrum/detail/atomic.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace thrum {

namespace detail {

struct no_completion {
  void operator()() const noexcept {}
};

// Everything except the completion function.
class barrier_core {
 public:
  static constexpr std::ptrdiff_t max() noexcept { return 0x7fff'ffff; }

  explicit barrier_core(std::ptrdiff_t expected) noexcept
      : state_(static_cast<std::uint64_t>(expected)), expected_(expected) {
    if (expected < 0 || expected > max()) refuse("barrier", expected);
  }

  // Returns the state before the arrival.
  [[nodiscard]] std::uint64_t arrive(std::ptrdiff_t n) noexcept {
    // release: the last arrival and all released waiters see what happened before. acquire: in case this is the last
    // arrival.
    std::uint64_t const before = state_.fetch_sub(static_cast<std::uint64_t>(n), acq_rel);
    if (n <= 0 || n > pending_of(before)) refuse("barrier::arrive", n);
    return before;
  }

  void expect_one_less() noexcept {
    // relaxed, because the arrival that follows publishes it to the last arrival
    if (expected_.fetch_sub(1, relaxed) <= 0) refuse("barrier::arrive_and_drop", 1);
  }

  // Called by the last arrival.
  void begin_next_phase() noexcept {
    std::uint64_t seen = state_.load(relaxed);
    while ((seen & waited_for) == 0) {
      // release pairs with the acquire in wait(). After this the barrier may be destroyed.
      if (state_.compare_exchange_weak(seen, next_phase(seen), release, relaxed)) return;
    }
    begin_next_phase_slow();
  }

  void wait(std::uint64_t phase) const {
    if (phase_of(state_.load(acquire)) == phase) wait_slow(phase);  // pairs with the release in begin_next_phase
  }

  static constexpr std::ptrdiff_t pending_of(std::uint64_t state) noexcept {
    return static_cast<std::ptrdiff_t>(state & pending);
  }
  static constexpr std::uint64_t phase_of(std::uint64_t state) noexcept { return state & phases; }

 private:
  static constexpr std::uint64_t pending = 0xffff'ffff;  // arrivals that this phase still needs
  // valid for the run whose number is in the bits above
  static constexpr std::uint64_t waited_for = std::uint64_t{1} << 32U;
  static constexpr std::uint64_t one_phase = std::uint64_t{1} << 33U;
  // Phase numbers wrap around; a token is valid only for its own phase and the next one.
  static constexpr std::uint64_t phases = (std::uint64_t{1} << 48U) - one_phase;

  [[noreturn]] static void refuse(char const* what, std::ptrdiff_t n) noexcept;

  [[nodiscard]] std::uint64_t next_phase(std::uint64_t seen) const noexcept {
    return (phase_of(seen + one_phase)) | static_cast<std::uint64_t>(expected_.load(relaxed));
  }

  void begin_next_phase_slow() noexcept;
  void wait_slow(std::uint64_t phase) const;

  mutable detail::atomic<std::uint64_t> state_;
  detail::atomic<std::ptrdiff_t> expected_;  // number of arrivals in the following phases
};

}  // namespace detail

template <class CompletionFunction = detail::no_completion>
class barrier {
  static_assert(std::is_nothrow_invocable_v<CompletionFunction&>,
                "the completion function of a thrum::barrier must be noexcept");

 public:
  class [[nodiscard]] arrival_token {
   public:
    arrival_token(arrival_token&&) noexcept = default;
    arrival_token& operator=(arrival_token&&) noexcept = default;

   private:
    friend class barrier;
    explicit arrival_token(std::uint64_t phase) noexcept : phase_(phase) {}
    std::uint64_t phase_;
  };

  static constexpr std::ptrdiff_t max() noexcept { return detail::barrier_core::max(); }

  explicit barrier(std::ptrdiff_t expected, CompletionFunction completion = CompletionFunction())
      : core_(expected), completion_(std::move(completion)) {}
  barrier(barrier const&) = delete;
  barrier& operator=(barrier const&) = delete;

  // Counts as n arrivals. The token is for wait().
  arrival_token arrive(std::ptrdiff_t n = 1) {
    std::uint64_t const before = core_.arrive(n);
    if (core_.pending_of(before) == n) {
      completion_();
      core_.begin_next_phase();
    }
    return arrival_token(core_.phase_of(before));
  }

  // Returns when the phase of the token is over.
  void wait(arrival_token&& token) const { core_.wait(token.phase_); }

  void arrive_and_wait() { wait(arrive()); }

  // Arrives, and is not expected in the following phases.
  void arrive_and_drop() {
    core_.expect_one_less();
    static_cast<void>(arrive());
  }

 private:
  detail::barrier_core core_;
  [[no_unique_address]] CompletionFunction completion_;
};

}  // namespace thrum
