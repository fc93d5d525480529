// once: a function that is called at most once, whoever comes first.
//
//   thrum::once init;
//   init.call([] { table = load(); });
//
// Whoever calls while it runs waits, parked, until it is done, and then sees its effects. If it throws, the exception
// goes to the caller that ran it and it counts as done. After the first time a call is one load. Outside of a run it may be called, too;
// only one that would have to wait for another thread's call throws std::logic_error then.
#pragma once

#include <thrum/defer.h>
#include <thrum/detail/atomic.h>

#include <cstdint>
#include <utility>

namespace thrum {

class once {
 public:
  constexpr once() noexcept = default;
  once(once const&) = delete;
  once& operator=(once const&) = delete;

  template <class F>
  void call(F&& f) {
    if (state_.load(detail::acquire) == finished) return;  // pairs with finish(): its effects are visible
    if (!begin()) return;
    defer const end = [this] { finish(); };
    std::forward<F>(f)();
  }

 private:
  static constexpr std::uint32_t fresh = 0;
  static constexpr std::uint32_t running = 1;
  static constexpr std::uint32_t finished = 2;
  static constexpr std::uint32_t waited_for =
      4;  // with running: goroutines wait, in the run whose number stands in the upper 16 bits

  [[nodiscard]] bool begin();  // true: the caller is the one to run it; false: it is done
  void finish() noexcept;

  detail::atomic<std::uint32_t> state_{fresh};
};

}  // namespace thrum
