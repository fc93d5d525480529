// latch: lets goroutines wait until a number of things have happened, like std::latch.
//
//   thrum::latch ready(3);
//   for (int i = 0; i < 3; ++i) thrum::go([&] { prepare(); ready.count_down(); });
//   ready.wait();
//
// count_down is one atomic operation and never switches to another goroutine. wait parks the goroutine. When wait
// returns, everything that happened before the count_down calls is visible, and the latch may be destroyed. Counting
// below zero ends the program.
#pragma once

#include <thrum/detail/at_least_cxx20.h>
#include <thrum/detail/atomic.h>
#include <thrum/detail/user_frame.h>

#include <cstddef>
#include <cstdint>

namespace thrum {

class latch {
 public:
  static constexpr std::ptrdiff_t max() noexcept { return (std::ptrdiff_t{1} << 47U) - 1; }

  explicit latch(std::ptrdiff_t expected) noexcept : state_(one * static_cast<std::uint64_t>(expected)) {
    if (expected < 0 || expected > max()) refuse("latch", expected);
  }
  latch(latch const&) = delete;
  latch& operator=(latch const&) = delete;

  [[gnu::always_inline]] void count_down(std::ptrdiff_t n = 1) noexcept {
    std::uint64_t seen = state_.load(detail::relaxed);
    while ((seen & waited_for) == 0 && n >= 0 && n <= count_of(seen)) {
      // release pairs with the acquire in wait(). acquire, so that the release of the last count_down covers all
      // earlier ones. After this the latch may be destroyed.
      if (state_.compare_exchange_weak(seen, seen - one * static_cast<std::uint64_t>(n), detail::acq_rel,
                                       detail::relaxed)) {
        return;
      }
    }
    count_down_slow(n);
    detail::stay_in_users_function();
  }

  [[nodiscard]] bool try_wait() const noexcept {
    return count_of(state_.load(detail::acquire)) == 0;  // pairs with the release in count_down
  }

  void wait() const {
    if (!try_wait()) wait_slow();
  }

  void arrive_and_wait(std::ptrdiff_t n = 1) {
    count_down(n);
    wait();
  }

 private:
  static constexpr std::uint64_t waited_for = 1;  // valid for the run whose number is in the bits above the count
  static constexpr std::uint64_t one = 2;

  static constexpr std::ptrdiff_t count_of(std::uint64_t state) noexcept {
    return static_cast<std::ptrdiff_t>(state / one) & max();
  }
  [[noreturn]] static void refuse(char const* what, std::ptrdiff_t n) noexcept;

  void count_down_slow(std::ptrdiff_t n) noexcept;
  void wait_slow() const;

  mutable detail::atomic<std::uint64_t> state_;
};

}  // namespace thrum
