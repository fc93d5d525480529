// The cases of a select. Internal: the public header is select.h.
#pragma once

#include <thrum/chan.h>
#include <thrum/detail/channel.h>
#include <thrum/detail/parcel.h>

#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

namespace thrum::detail {

// The channel of a case. If the caller holds a handle of the channel, the case only points to the channel, because
// counting a reference would cost two atomic operations per case. If the handle is a temporary, or if the case must
// outlive the expression, the case holds a counted reference.
class case_channel {
 public:
  explicit case_channel(channel_handle const& its_owner) noexcept : core_(its_owner.core()) {}
  explicit case_channel(channel_handle&& temporary) noexcept : core_(temporary.core()) { hold(); }
  case_channel(case_channel&& other) noexcept : core_(other.core_), held_(std::exchange(other.held_, false)) {}
  case_channel& operator=(case_channel&&) = delete;
  ~case_channel() {
    if (held_) release_channel(core_);
  }

  void hold() noexcept {
    if (held_) return;
    retain_channel(core_);
    held_ = true;
  }
  [[nodiscard]] channel* core() const noexcept { return core_; }

 private:
  channel* core_;
  bool held_ = false;
};

// Every case has describe(), which is called before the select, and picked(), which is called after it was chosen.
template <class T, class F>
class recv_case {
  static constexpr bool takes_optional = std::is_invocable_v<F&, std::optional<T>>;
  static_assert(takes_optional,
                "the function of thrum::on_recv takes a std::optional of the channel's element, not the element: "
                "std::nullopt says that the channel is closed");

 public:
  template <class Handle>
  recv_case(Handle&& from, F f) : from_(std::forward<Handle>(from)), f_(std::move(f)) {}
  recv_case(recv_case&& other) noexcept(std::is_nothrow_move_constructible_v<F>)
      : from_(std::move(other.from_)), f_(std::move(other.f_)) {}  // no element was received yet
  recv_case& operator=(recv_case&&) = delete;
  ~recv_case() = default;

  void hold() noexcept { from_.hold(); }
  void describe(channel_waiter& to_fill) noexcept {
    to_fill.on = from_.core();
    to_fill.parcel = element_.parcel();
    to_fill.sends = false;
  }
  void picked(bool received) {
    // One call for both cases, because gcc 12 warns in the user's code about a call with an element that is known to be
    // missing.
    if constexpr (takes_optional) std::invoke(f_, received ? element_.take() : std::optional<T>());
  }

 private:
  case_channel from_;
  incoming<T> element_;
  F f_;
};

[[noreturn]] inline void throw_sent_already() {
  throw channel_error(
      "thrum: select: the value of an on_send case has already been sent; make a new case for each value");
}

template <class T, class F>
class send_case {
 public:
  template <class Handle>
  send_case(Handle&& to, T&& value, F f) : to_(std::forward<Handle>(to)), value_(std::move(value)), f_(std::move(f)) {}
  send_case(send_case&&) = default;  // NOLINT(performance-noexcept-move-constructor): as T is
  send_case& operator=(send_case&&) = delete;
  ~send_case() = default;

  void hold() noexcept { to_.hold(); }
  void describe(channel_waiter& to_fill) {
    if (!value_.is_here()) throw_sent_already();
    to_fill.on = to_.core();
    to_fill.parcel = value_.parcel();
    to_fill.sends = true;
  }
  void picked(bool) {
    value_.sent();
    std::invoke(f_);
  }

 private:
  case_channel to_;
  outgoing<T> value_;
  F f_;
};

// Runs if no case is ready, or becomes ready in time.
template <class F>
struct fallback_case {
  std::int64_t patience_ns;
  F f;
};

template <class Case>
inline constexpr bool is_fallback = false;
template <class F>
inline constexpr bool is_fallback<fallback_case<F>> = true;

struct do_nothing {
  template <class... Args>
  void operator()(Args&&...) const noexcept {}
};

template <class Handle>
using element_of = typename std::remove_cvref_t<Handle>::value_type;

// A handle that can receive, or one that can send. A view of the other side is excluded.
template <class Handle>
concept receiving_handle = std::derived_from<std::remove_cvref_t<Handle>, channel_handle> &&
    requires(std::remove_cvref_t<Handle> const& from) {
  from.recv();
};
template <class Handle>
concept sending_handle = std::derived_from<std::remove_cvref_t<Handle>, channel_handle> &&
    requires(std::remove_cvref_t<Handle> const& to) {
  to.close();
};

}  // namespace thrum::detail
