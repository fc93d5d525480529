// context: carries cancellation, a deadline and values to everything that works on one task (Go's package context).
//
//   auto [ctx, cancel] = thrum::with_cancel(parent);
//   thrum::defer at_end = cancel;                                 // as Go's `defer cancel()`
//   thrum::go([mine = ctx] {
//     thrum::select(thrum::on_recv(jobs, work), thrum::on_recv(mine.done()));  // closed when ctx is cancelled
//   });
//   for (auto& each : all) {
//     ctx.throw_if_done();                                        // where a loop computes and waits for nothing
//     work(each);
//   }
//
// A context is a handle, cheap to copy: pass it on by const reference, keep it by value. What is made from it (with_cancel,
// with_value, ...) is cancelled with it, and never the other way round. When cancel() returns, the context and everything
// below it is done, and has told so: err() is set, done() closed, stop tokens asked to stop. Only the first cancellation of
// a context counts: its error and cause stay.
//
// A context that is no longer used leaves its parent by itself, without being cancelled: there is nothing to leak. It needs
// no goroutine, and a place among its siblings that is entered and left in constant time.
//
// Thread safety: everything may be called from any goroutine or thread at any time. Nothing here blocks or switches.
#pragma once

#include <thrum/chan.h>
#include <thrum/clock.h>
#include <thrum/detail/context_node.h>
#include <thrum/detail/duration.h>
#include <thrum/go.h>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <stop_token>
#include <system_error>
#include <type_traits>
#include <utility>
#include <variant>

namespace thrum {

// Why a context is done. They equal std::errc::operation_canceled and std::errc::timed_out.
enum class context_errc { canceled = 1, deadline_exceeded };

[[nodiscard]] std::error_category const& context_category() noexcept;
[[nodiscard]] inline std::error_code make_error_code(context_errc e) noexcept {
  return {static_cast<int>(e), context_category()};
}

// The same as an exception: what cause() holds when nobody gave another one.
class context_error : public std::system_error {
 public:
  explicit context_error(std::error_code why) : std::system_error(why, "thrum::context") {}
};

namespace detail {
[[nodiscard]] clock::time_point from_now(std::int64_t ns) noexcept;  // without overflow
}  // namespace detail

class context {
 public:
  using time_point = clock::time_point;
  using done_channel = chan<std::monostate>::receiver;

  // The background: never cancelled, no deadline, no values. The root of all others.
  context() noexcept = default;
  [[nodiscard]] static context background() noexcept { return {}; }

  // Cancelled when a stop is requested.
  explicit context(std::stop_token token);

  // Closed when the context is done, never sent to; for the background the nil channel. Made at the first call.
  [[nodiscard]] done_channel done() const;

  // Empty while it is not done; once it is set, done() is closed, and the other way round. Costs one or two loads.
  [[nodiscard]] std::error_code err() const noexcept;

  // What the cancellation was given as its cause, else a context_error; nullptr while it is not done.
  [[nodiscard]] std::exception_ptr cause() const;

  // Throws cause() if it is done: as err(), for code that is to be left by an exception.
  void throw_if_done() const {
    if (err()) std::rethrow_exception(cause());
  }

  // When it will be cancelled by itself, at the latest.
  [[nodiscard]] std::optional<time_point> deadline() const noexcept;

  // The newest value that was put in under this key, or under its type; nullptr if there is none, or if it is no T. It
  // lives as long as this context. Keys match by type and value.
  template <class T, class Key>
  [[nodiscard]] T const* value(Key const& key) const {
    auto const& searched = detail::as_key(key);
    return of_type<T>(detail::find_value(node_.get(), typeid(detail::key_of<Key>), std::addressof(searched)));
  }
  template <class T>
  [[nodiscard]] T const* value() const {
    return value<T>(detail::type_key<T>());
  }

  // A token whose stop is requested when the context is done, for what knows std::stop_token only. For the background: a token
  // that is never stopped.
  //
  // Its stop_callbacks run inside cancel(), on the goroutine that cancels. They must be short, and must not wait for anything:
  // the standard library recognises the goroutine that runs a callback by its thread, and a goroutine that has waited may go on
  // on another one. Then a stop_callback that is destroyed inside its own call waits for itself for ever, and one that another
  // goroutine destroys on the first thread is gone while its call is under way. A callback that has to wait starts a goroutine
  // (go), or is an after_func of the context.
  [[nodiscard]] std::stop_token get_stop_token() const;
  operator std::stop_token() const {
    return get_stop_token();
  }  // NOLINT(google-explicit-constructor): meant to convert

  friend bool operator==(context const& a, context const& b) noexcept { return a.node_.get() == b.node_.get(); }

  // Internal.
  explicit context(detail::context_reference node) noexcept : node_(std::move(node)) {}
  [[nodiscard]] detail::context_reference const& node() const noexcept { return node_; }

 private:
  template <class T>
  [[nodiscard]] static T const* of_type(detail::value_base const* found) noexcept {
    if (found == nullptr || found->value_type != typeid(T)) return nullptr;
    return static_cast<T const*>(found->address());
  }

  detail::context_reference node_;
};

// Cancels the context that it was made with, and everything below. All copies do the same; a second call changes nothing.
class cancel_function {
 public:
  // The cause is what cause() answers from then on; err() is context_errc::canceled.
  void operator()(std::exception_ptr cause = nullptr) const;
  template <class E>
  requires std::derived_from<E, std::exception>
  void operator()(E cause) const { (*this)(std::make_exception_ptr(std::move(cause))); }

  // Internal.
  explicit cancel_function(detail::context_reference node) noexcept : node_(std::move(node)) {}

 private:
  detail::context_reference node_;
};

// A context, and how to cancel it.
struct cancelable {
  context ctx;
  cancel_function cancel;
};

[[nodiscard]] cancelable with_cancel(context const& parent);
[[nodiscard]] inline cancelable with_cancel_cause(context const& parent) { return with_cancel(parent); }  // Go's name

// Cancelled by itself when the time comes: err() is then context_errc::deadline_exceeded, and cause() what was given here. A
// time that is over cancels it at once; one that is later than the parent's own changes nothing. The timer is stopped when
// the context is cancelled or no longer used. Throws std::logic_error while no runtime is alive, unless no timer is needed.
[[nodiscard]] cancelable with_deadline(context const& parent, clock::time_point when,
                                       std::exception_ptr cause = nullptr);
template <class Clock, class Duration>
[[nodiscard]] cancelable with_deadline(context const& parent, std::chrono::time_point<Clock, Duration> const& when,
                                       std::exception_ptr cause = nullptr) {
  auto const now = Clock::now();
  return with_deadline(parent, detail::from_now(when <= now ? 0 : detail::to_ns(when - now)), std::move(cause));
}
template <class Rep, class Period>
[[nodiscard]] cancelable with_timeout(context const& parent, std::chrono::duration<Rep, Period> const& d,
                                      std::exception_ptr cause = nullptr) {
  return with_deadline(parent, detail::from_now(detail::to_ns(d)), std::move(cause));
}

// Only the values of its parent: cancelled by nobody, no deadline.
[[nodiscard]] context without_cancel(context const& parent);

// The parent with one more value, for what belongs to a request and passes through many hands. The key is anything that
// can be compared; a type of one's own keeps it apart from other people's keys. Without a key it is found by its type.
template <class Key, class T>
[[nodiscard]] context with_value(context const& parent, Key&& key, T&& value) {
  using stored_key = detail::key_of<std::remove_cvref_t<Key>>;
  static_assert(std::equality_comparable<stored_key>, "the key of a context's value must be comparable");
  return context(detail::context_reference(new detail::value_node<stored_key, std::decay_t<T>>(
      parent.node(), std::forward<Key>(key), std::forward<T>(value))));
}
template <class T>
[[nodiscard]] context with_value(context const& parent, T&& value) {
  return with_value(parent, detail::type_key<std::decay_t<T>>(), std::forward<T>(value));
}

// The right to stop what after_func was told to do. Dropping it changes nothing.
class context_callback {
 public:
  context_callback(context_callback&& other) noexcept : call_(std::exchange(other.call_, nullptr)) {}
  context_callback& operator=(context_callback&& other) noexcept {
    std::swap(call_, other.call_);
    return *this;
  }
  ~context_callback() { detail::release_call(call_); }

  // True: the function will not be called. False: it has been started, or was stopped before.
  bool stop() noexcept { return call_ != nullptr && detail::stop_call(*call_); }

  // Internal: takes the count over.
  explicit context_callback(detail::context_call* call) noexcept : call_(call) {}

 private:
  detail::context_call* call_;
};

// Calls f in a goroutine of its own when the context is done; at once if it is already. Until it has been called or stopped
// it keeps the context alive.
template <class F>
requires std::invocable<std::decay_t<F>> context_callback after_func(context const& ctx, F&& f) {
  struct call final : detail::context_call {
    call(context const& awaited, F&& callee) : context_call(awaited.node()), f(std::forward<F>(callee)) {}
    void start() noexcept override {
      try {
        thrum::go(std::move(f));
      } catch (...) {
        std::invoke(std::move(f));  // no goroutine to be had here: better now than never
      }
    }
    std::decay_t<F> f;
  };
  detail::require_callable(f);
  auto* const made = new call(ctx, std::forward<F>(f));
  detail::await_cancel(*made);
  return context_callback(made);
}

}  // namespace thrum

template <>
struct std::is_error_code_enum<thrum::context_errc> : std::true_type {};
