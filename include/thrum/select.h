// select: waits for several channels at once and carries out one send or receive (S33).
//
//   thrum::select(
//       thrum::on_recv(jobs, [&](std::optional<job> next) { ... }),  // nullopt: jobs is closed
//       thrum::on_send(results, result, [&] { ... }),
//       thrum::otherwise([&] { ... }));                              // if no case is ready; or:
//       thrum::on_timeout(50ms, [&] { ... }));                       // if no case becomes ready in time
//
//  - If several cases are ready, one of them is picked at random, with equal probability. All channels are examined at
//    one instant.
//  - If no case is ready, the goroutine waits. With an `otherwise` it does not wait, and with an `on_timeout` it waits
//    no longer than that.
//  - Channels and values are evaluated once, in unspecified order, because they are arguments of a function.
//  - Only the function of the chosen case is called, after the channels are unlocked.
//  - A case of a nil channel is never ready. Sending on a closed channel throws channel_closed.
//  - The value of a sending case that was not chosen stays in the case and is destroyed with it.
//
// select blocks the goroutine, never its thread. With n cases it costs about n times as much as one channel operation.
// It allocates nothing except the boxes of values to be sent (see chan.h) and, for a span, n small records.
#pragma once

#include <thrum/chan.h>
#include <thrum/detail/duration.h>
#include <thrum/detail/select_case.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace thrum {

// Receives from a chan<T> or its receiver; f takes a std::optional<T>.
template <detail::receiving_handle Handle, class F = detail::do_nothing>
[[nodiscard]] auto on_recv(Handle&& from, F f = {}) {
  return detail::recv_case<detail::element_of<Handle>, F>(std::forward<Handle>(from), std::move(f));
}

// Sends value to a chan<T> or its sender.
template <detail::sending_handle Handle, class F = detail::do_nothing>
[[nodiscard]] auto on_send(Handle&& to, detail::element_of<Handle> value, F f = {}) {
  return detail::send_case<detail::element_of<Handle>, F>(std::forward<Handle>(to), std::move(value), std::move(f));
}

// Runs f instead of waiting if no case is ready.
template <class F = detail::do_nothing>
[[nodiscard]] auto otherwise(F f = {}) {
  return detail::fallback_case<F>{0, std::move(f)};
}

// Runs f if no case becomes ready in this time. A time of zero or less acts like `otherwise`; the largest duration
// never ends.
template <class Rep, class Period, class F = detail::do_nothing>
[[nodiscard]] auto on_timeout(std::chrono::duration<Rep, Period> const& d, F f = {}) {
  return detail::fallback_case<F>{std::max(detail::to_ns(d), std::int64_t{0}), std::move(f)};
}

// A case whose kind is known only at run time. It is made from any of the above, and holds its channel.
class select_case {
 public:
  template <class Case>
  requires(!std::is_same_v<std::remove_cvref_t<Case>, select_case>)
      select_case(Case&& from)  // NOLINT(google-explicit-constructor): meant to convert
      : self_(std::make_unique<model<std::remove_cvref_t<Case>>>(std::forward<Case>(from))) {}

  [[nodiscard]] bool is_fallback() const noexcept { return self_->patience_ns >= 0; }
  [[nodiscard]] std::int64_t patience_ns() const noexcept { return self_->patience_ns; }
  void describe(detail::channel_waiter& to_fill) { self_->describe(to_fill); }
  void picked(bool completed) { self_->picked(completed); }

 private:
  struct interface {
    explicit interface(std::int64_t patience) noexcept : patience_ns(patience) {}
    interface(interface const&) = delete;
    interface& operator=(interface const&) = delete;
    virtual ~interface() = default;
    virtual void describe(detail::channel_waiter&) {}
    virtual void picked(bool completed) = 0;
    std::int64_t const patience_ns;  // how long a fallback case waits; -1 for other cases
  };

  template <class Case>
  struct model final : interface {
    explicit model(Case&& from) : interface(patience_of(from)), own(std::move(from)) {
      if constexpr (!detail::is_fallback<Case>) own.hold();
    }
    static std::int64_t patience_of(Case const& from) noexcept {
      if constexpr (detail::is_fallback<Case>) {
        return from.patience_ns;
      } else {
        return -1;
      }
    }
    void describe(detail::channel_waiter& to_fill) override {
      if constexpr (!detail::is_fallback<Case>) own.describe(to_fill);
    }
    void picked(bool completed) override {
      if constexpr (detail::is_fallback<Case>) {
        std::invoke(own.f);
      } else {
        own.picked(completed);
      }
    }
    Case own;
  };

  std::unique_ptr<interface> self_;
};

// Returns the index of the case that ran, in the order in which the cases are written.
template <class... Cases>
requires(!std::is_convertible_v<Cases&&, std::span<select_case>> && ...) std::size_t select(Cases&&... cases) {
  constexpr std::size_t count = sizeof...(Cases);
  constexpr std::size_t fallbacks = (0 + ... + (detail::is_fallback<std::remove_cvref_t<Cases>> ? 1 : 0));
  static_assert(fallbacks <= 1, "a select can have only one `otherwise` or `on_timeout`");
  static_assert((!std::is_same_v<std::remove_cvref_t<Cases>, select_case> && ...),
                "pass objects of type thrum::select_case to select in a std::span");
  // the entry of a fallback is nil, so it is never picked
  std::array<detail::channel_waiter, count + (count == 0 ? 1 : 0)> waiters;
  std::int64_t patience_ns = detail::for_ever_ns;
  [[maybe_unused]] std::size_t next = 0;
  (
      [&] {
        if constexpr (detail::is_fallback<std::remove_cvref_t<Cases>>) {
          patience_ns = cases.patience_ns;
        } else {
          cases.describe(waiters[next]);
        }
        ++next;
      }(),
      ...);
  [[maybe_unused]] std::size_t const chosen = detail::select(waiters.data(), count, patience_ns);
  std::size_t picked = 0;
  [[maybe_unused]] std::size_t at = 0;
  (
      [&] {
        if constexpr (detail::is_fallback<std::remove_cvref_t<Cases>>) {
          if (chosen == count) {
            picked = at;
            std::invoke(cases.f);
          }
        } else if (chosen == at) {
          picked = at;
          cases.picked(waiters[at].completed);
        }
        ++at;
      }(),
      ...);
  return picked;
}

// The same for a number of cases that is known only at run time. The cases can be used in another select, except a
// sending case that was chosen, because its value is gone.
inline std::size_t select(std::span<select_case> cases) {
  std::vector<detail::channel_waiter> waiters(cases.size());
  std::size_t fallback = cases.size();
  std::int64_t patience_ns = detail::for_ever_ns;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (cases[i].is_fallback()) {
      if (std::exchange(fallback, i) != cases.size()) {
        throw channel_error("thrum: a select can have only one `otherwise` or `on_timeout`");
      }
      patience_ns = cases[i].patience_ns();
    }
    cases[i].describe(waiters[i]);
  }
  std::size_t const chosen = detail::select(waiters.data(), waiters.size(), patience_ns);
  std::size_t const picked = chosen == cases.size() ? fallback : chosen;
  cases[picked].picked(chosen != cases.size() && waiters[chosen].completed);
  return picked;
}

}  // namespace thrum
