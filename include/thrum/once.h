// once: calls a function at most once.
//
//   thrum::once init;
//   init.call([] { table = load(); });
//
// The first call runs its function. Calls that come while it runs wait, parked, until it is done, and then see its
// effects. If the function throws, the exception goes to the caller that ran it, and the function counts as done. Every
// later call is one load. call also works outside of a run; there it throws std::logic_error only if it would have to
// wait for another thread's call.
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
    // pairs with the release in finish(), so the effects are visible
    if (state_.load(detail::acquire) == finished) return;
    if (!begin()) return;
    defer const end = [this] { finish(); };
    std::forward<F>(f)();
  }

 private:
  static constexpr std::uint32_t fresh = 0;
  static constexpr std::uint32_t running = 1;
  static constexpr std::uint32_t finished = 2;
  // Set together with running while goroutines wait. The upper 16 bits hold the number of the run in which they wait.
  static constexpr std::uint32_t waited_for = 4;

  [[nodiscard]] bool begin();  // true: the caller has to run the function; false: it is done
  void finish() noexcept;

  detail::atomic<std::uint32_t> state_{fresh};
};

}  // namespace thrum
