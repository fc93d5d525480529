// latch: opens once, when a number of things have happened; as std::latch.
//
//   thrum::latch ready(3);
//   for (int i = 0; i < 3; ++i) thrum::go([&] { prepare(); ready.count_down(); });
//   ready.wait();
//
// count_down is one atomic operation and never switches; wait parks the goroutine. When wait returns, everything before
// the count_down calls is visible, and the latch may be destroyed. Counting below zero ends the program.
#pragma once

#include <thrum/detail/at_least_cxx20.h>
#include <thrum/detail/atomic.h>

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

  void count_down(std::ptrdiff_t n = 1) noexcept {
    std::uint64_t seen = state_.load(detail::relaxed);
    while ((seen & waited_for) == 0 && n >= 0 && n <= count_of(seen)) {
      // release pairs with wait()'s acquire; acquire: the last one's release then covers all. It may be gone afterwards
      if (state_.compare_exchange_weak(seen, seen - one * static_cast<std::uint64_t>(n), detail::acq_rel,
                                       detail::relaxed)) {
        return;
      }
    }
    count_down_slow(n);
  }

  [[nodiscard]] bool try_wait() const noexcept {
    return count_of(state_.load(detail::acquire)) == 0;  // pairs with count_down's release
  }

  void wait() const {
    if (!try_wait()) wait_slow();
  }

  void arrive_and_wait(std::ptrdiff_t n = 1) {
    count_down(n);
    wait();
  }

 private:
  static constexpr std::uint64_t waited_for = 1;  // in the run whose number stands above the count
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
