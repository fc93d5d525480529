// select: waits for several channels at once and carries out one send or receive (S33).
//
//   thrum::select(
//       thrum::on_recv(jobs, [&](std::optional<job> next) { ... }),  // nullopt: jobs is closed
//       thrum::on_send(results, result, [&] { ... }),
//       thrum::otherwise([&] { ... }));                              // if none of them is ready now
//
// Of the cases that are ready one is picked at random, each as likely as the others; all channels are seen at one instant.
// Without a ready case the goroutine waits, unless there is an `otherwise`. Channels and values are evaluated once (in
// which order is for the compiler to say: they are arguments of a function); only the chosen case's function is called,
// after the channels are free again. A case of a nil channel is never ready. Sending on a closed channel throws
// channel_closed. A value of a case that was not chosen stays with the case, and is destroyed with it.
//
// It blocks the goroutine, never its thread. With n cases it costs about n times what one channel operation costs, and
// allocates nothing beyond the boxes of values to be sent (see chan.h) and, for a span, n small records.
#pragma once

#include <thrum/chan.h>
#include <thrum/detail/select_case.h>

#include <array>
#include <cstddef>
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

// Instead of waiting.
template <class F = detail::do_nothing>
[[nodiscard]] auto otherwise(F f = {}) {
  return detail::otherwise_case<F>{std::move(f)};
}

// One case whose kind is known only at run time: made from any of the above. It holds its channel.
class select_case {
 public:
  template <class Case>
  requires(!std::is_same_v<std::remove_cvref_t<Case>, select_case>)
      select_case(Case&& from)  // NOLINT(google-explicit-constructor): meant to convert
      : self_(std::make_unique<model<std::remove_cvref_t<Case>>>(std::forward<Case>(from))) {}

  [[nodiscard]] bool is_otherwise() const noexcept { return self_->is_otherwise; }
  void describe(detail::channel_waiter& to_fill) { self_->describe(to_fill); }
  void picked(bool completed) { self_->picked(completed); }

 private:
  struct interface {
    explicit interface(bool is_default) noexcept : is_otherwise(is_default) {}
    interface(interface const&) = delete;
    interface& operator=(interface const&) = delete;
    virtual ~interface() = default;
    virtual void describe(detail::channel_waiter&) {}
    virtual void picked(bool completed) = 0;
    bool const is_otherwise;
  };

  template <class Case>
  struct model final : interface {
    explicit model(Case&& from) : interface(detail::is_otherwise<Case>), own(std::move(from)) {
      if constexpr (!detail::is_otherwise<Case>) own.hold();
    }
    void describe(detail::channel_waiter& to_fill) override {
      if constexpr (!detail::is_otherwise<Case>) own.describe(to_fill);
    }
    void picked(bool completed) override {
      if constexpr (detail::is_otherwise<Case>) {
        std::invoke(own.f);
      } else {
        own.picked(completed);
      }
    }
    Case own;
  };

  std::unique_ptr<interface> self_;
};

// Answers the index of the case that ran, in the order in which they are written.
template <class... Cases>
requires(!std::is_convertible_v<Cases&&, std::span<select_case>> && ...) std::size_t select(Cases&&... cases) {
  constexpr std::size_t count = sizeof...(Cases);
  constexpr std::size_t defaults = (0 + ... + (detail::is_otherwise<std::remove_cvref_t<Cases>> ? 1 : 0));
  static_assert(defaults <= 1, "a select has at most one `otherwise`");
  static_assert((!std::is_same_v<std::remove_cvref_t<Cases>, select_case> && ...), "a select_case goes into a span");
  std::array<detail::channel_waiter, count + (count == 0 ? 1 : 0)>
      waiters;  // nil, and so never picked, for `otherwise`
  [[maybe_unused]] std::size_t next = 0;
  (
      [&] {
        if constexpr (!detail::is_otherwise<std::remove_cvref_t<Cases>>) cases.describe(waiters[next]);
        ++next;
      }(),
      ...);
  [[maybe_unused]] std::size_t const chosen =
      detail::select(waiters.data(), count,
                     defaults == 0 ? detail::when_none_is_ready::wait : detail::when_none_is_ready::return_at_once);
  std::size_t picked = 0;
  [[maybe_unused]] std::size_t at = 0;
  (
      [&] {
        if constexpr (detail::is_otherwise<std::remove_cvref_t<Cases>>) {
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

// The same for a number of cases that is known only at run time. They can be used for another select, but for a sending one
// that was chosen: its value is gone.
inline std::size_t select(std::span<select_case> cases) {
  std::vector<detail::channel_waiter> waiters(cases.size());
  std::size_t fallback = cases.size();
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (cases[i].is_otherwise() && std::exchange(fallback, i) != cases.size()) {
      throw channel_error("thrum: a select has at most one `otherwise`");
    }
    cases[i].describe(waiters[i]);
  }
  bool const waits = fallback == cases.size();
  std::size_t const chosen =
      detail::select(waiters.data(), waiters.size(),
                     waits ? detail::when_none_is_ready::wait : detail::when_none_is_ready::return_at_once);
  std::size_t const picked = chosen == cases.size() ? fallback : chosen;
  cases[picked].picked(chosen != cases.size() && waiters[chosen].completed);
  return picked;
}

}  // namespace thrum
