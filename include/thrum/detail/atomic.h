// The only place where thrum uses std::atomic.
//
// Every atomic access of the library goes through `detail::atomic<T>`, also those in public templates that are inlined
// into user code. It differs from std::atomic in two ways: each access names its memory order, because there is no
// default, and there are no operators.
#pragma once

#include <atomic>

namespace thrum::detail {

inline constexpr auto relaxed = std::memory_order_relaxed;
inline constexpr auto acquire = std::memory_order_acquire;
inline constexpr auto release = std::memory_order_release;
inline constexpr auto acq_rel = std::memory_order_acq_rel;
inline constexpr auto seq_cst = std::memory_order_seq_cst;

template <class T>
class atomic {
 public:
  constexpr atomic() noexcept = default;
  constexpr explicit atomic(T initial) noexcept : value_(initial) {}
  atomic(atomic const&) = delete;
  atomic& operator=(atomic const&) = delete;

  [[nodiscard]] T load(std::memory_order order) const noexcept { return value_.load(order); }
  void store(T desired, std::memory_order order) noexcept { value_.store(desired, order); }
  T exchange(T desired, std::memory_order order) noexcept { return value_.exchange(desired, order); }

  [[nodiscard]] bool compare_exchange(T& expected, T desired, std::memory_order success,
                                      std::memory_order failure) noexcept {
    return value_.compare_exchange_strong(expected, desired, success, failure);
  }
  [[nodiscard]] bool compare_exchange_weak(T& expected, T desired, std::memory_order success,
                                           std::memory_order failure) noexcept {
    return value_.compare_exchange_weak(expected, desired, success, failure);
  }

  template <class D>
  T fetch_add(D delta, std::memory_order order) noexcept {
    return value_.fetch_add(delta, order);
  }
  template <class D>
  T fetch_sub(D delta, std::memory_order order) noexcept {
    return value_.fetch_sub(delta, order);
  }
  T fetch_or(T bits, std::memory_order order) noexcept { return value_.fetch_or(bits, order); }
  T fetch_and(T bits, std::memory_order order) noexcept { return value_.fetch_and(bits, order); }

  // The address for a futex call; the kernel compares the word itself.
  [[nodiscard]] T* address() noexcept { return reinterpret_cast<T*>(&value_); }

 private:
  std::atomic<T> value_{};
  static_assert(std::atomic<T>::is_always_lock_free, "the scheduler's atomics must not hide a lock");
};

}  // namespace thrum::detail
