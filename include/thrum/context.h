// context: carries cancellation, a deadline and values to everything that works on one task (Go's package context).
//
//   auto [ctx, cancel] = thrum::with_cancel(parent);
//   thrum::defer at_end = cancel;                                 // as Go's `defer cancel()`
//   thrum::go([mine = ctx] {
//     thrum::select(thrum::on_recv(jobs, work), thrum::on_recv(mine.done()));  // closed when ctx is cancelled
//   });
//   for (auto& each : all) {
//     ctx.throw_if_done();                                        // in a loop that computes and does not wait
//     work(each);
//   }
//
// A context is a handle that is cheap to copy: pass it by const reference, keep it by value. Contexts that are made
// from it (with_cancel, with_value, ...) are its children. They are cancelled with it; cancelling a child does not
// affect the parent. When cancel() returns, the context and all its descendants are done: err() is set, done() is
// closed, and stop tokens are asked to stop. Only the first cancellation of a context counts, and its error and cause
// stay.
//
// A context that is not used any more leaves its parent without being cancelled, so nothing leaks. A context needs no
// goroutine. Adding it to its parent and removing it take constant time.
//
// Thread safety: everything may be called from any goroutine or thread at any time. Nothing here blocks or switches to
// another goroutine.
#pragma once

#include <thrum/chan.h>
#include <thrum/clock.h>
#include <thrum/detail/callable.h>
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

// Why a context is done. The values equal std::errc::operation_canceled and std::errc::timed_out.
enum class context_errc { canceled = 1, deadline_exceeded };

[[nodiscard]] std::error_category const& context_category() noexcept;
[[nodiscard]] inline std::error_code make_error_code(context_errc e) noexcept {
  return {static_cast<int>(e), context_category()};
}

// The same as an exception. cause() holds it if cancel() was given no other cause.
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

  // The background context, which is the root of all others. It is never cancelled and has no deadline and no values.
  context() noexcept = default;
  [[nodiscard]] static context background() noexcept { return {}; }

  // A context that is cancelled when a stop is requested.
  explicit context(std::stop_token token);

  // A channel that is closed when the context is done. Nothing is ever sent to it. It is made by the first call. For
  // the background it is the nil channel.
  [[nodiscard]] done_channel done() const;

  // Empty while the context is not done. err() is set exactly if done() is closed. Costs one or two loads.
  [[nodiscard]] std::error_code err() const noexcept;

  // The cause that was given to the cancellation, or a context_error if none was given. nullptr while it is not done.
  [[nodiscard]] std::exception_ptr cause() const;

  // Throws cause() if the context is done. Use it instead of err() in code that reports by exceptions.
  void throw_if_done() const {
    if (err()) std::rethrow_exception(cause());
  }

  // The time at which the context is cancelled at the latest, if it has a deadline.
  [[nodiscard]] std::optional<time_point> deadline() const noexcept;

  // The newest value that was added with this key, or without a key for this type. Returns nullptr if there is none, or
  // if the value is not a T. The value lives as long as this context. Keys match if both their types and their values
  // are equal.
  template <class T, class Key>
  [[nodiscard]] T const* value(Key const& key) const {
    auto const& searched = detail::as_key(key);
    return of_type<T>(detail::find_value(node_.get(), typeid(detail::key_of<Key>), std::addressof(searched)));
  }
  template <class T>
  [[nodiscard]] T const* value() const {
    return value<T>(detail::type_key<T>());
  }

  // A token whose stop is requested when the context is done, for code that knows only std::stop_token. For the
  // background it is a token that is never stopped.
  //
  // Its stop_callbacks run inside cancel(), on the goroutine that cancels. They must be short and must not wait. The
  // reason is that the standard library identifies the caller of a callback by its thread, and a goroutine that has
  // waited may continue on another thread. A stop_callback that is destroyed inside its own call then waits for itself
  // forever, and one that another goroutine destroys on the first thread is destroyed while its call is under way. If a
  // callback has to wait, let it start a goroutine (go), or use after_func of the context instead.
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

// Cancels the context that it was made with, and all descendants. All copies do the same. A second call changes
// nothing.
class cancel_function {
 public:
  // Afterwards cause() returns `cause`, and err() is context_errc::canceled.
  void operator()(std::exception_ptr cause = nullptr) const;
  template <class E>
  requires std::derived_from<E, std::exception>
  void operator()(E cause) const { (*this)(std::make_exception_ptr(std::move(cause))); }

  // Internal.
  explicit cancel_function(detail::context_reference node) noexcept : node_(std::move(node)) {}

 private:
  detail::context_reference node_;
};

// A context, and the function that cancels it.
struct cancelable {
  context ctx;
  cancel_function cancel;
};

[[nodiscard]] cancelable with_cancel(context const& parent);
[[nodiscard]] inline cancelable with_cancel_cause(context const& parent) { return with_cancel(parent); }  // Go's name

// A context that is cancelled at the given time: err() is then context_errc::deadline_exceeded, and cause() is the
// cause given here. If the time is over, it is cancelled at once. If the time is later than the parent's deadline, it
// changes nothing. The timer is stopped when the context is cancelled or not used any more. Throws std::logic_error
// while no runtime is alive, unless no timer is needed.
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

// A context with only the values of its parent: it has no deadline and is not cancelled with the parent.
[[nodiscard]] context without_cancel(context const& parent);

// A context with one more value than its parent, for data that belongs to a request. The key can be any type that can
// be compared; use a type of your own to avoid collisions with keys of other code. Without a key, the value is found by
// its type.
template <class Key, class T>
[[nodiscard]] context with_value(context const& parent, Key&& key, T&& value) {
  using stored_key = detail::key_of<std::remove_cvref_t<Key>>;
  static_assert(std::equality_comparable<stored_key>, "the key type of thrum::with_value must have operator==");
  return context(detail::context_reference(new detail::value_node<stored_key, std::decay_t<T>>(
      parent.node(), std::forward<Key>(key), std::forward<T>(value))));
}
template <class T>
[[nodiscard]] context with_value(context const& parent, T&& value) {
  return with_value(parent, detail::type_key<std::decay_t<T>>(), std::forward<T>(value));
}

// The handle to stop a call that after_func has set up. Dropping it does not stop the call.
class context_callback {
 public:
  context_callback(context_callback&& other) noexcept : call_(std::exchange(other.call_, nullptr)) {}
  context_callback& operator=(context_callback&& other) noexcept {
    std::swap(call_, other.call_);
    return *this;
  }
  ~context_callback() { detail::release_call(call_); }

  // Returns true if the function will not be called. Returns false if it was started or stopped already.
  bool stop() noexcept { return call_ != nullptr && detail::stop_call(*call_); }

  // Internal: takes over the reference.
  explicit context_callback(detail::context_call* call) noexcept : call_(call) {}

 private:
  detail::context_call* call_;
};

// Calls f in a new goroutine when the context is done, or at once if it is done already. Until f was called or stopped,
// the context is kept alive.
template <detail::goroutine_call F>
context_callback after_func(context const& ctx, F&& f) {
  struct call final : detail::context_call {
    call(context const& awaited, F&& callee) : context_call(awaited.node()), f(std::forward<F>(callee)) {}
    void start() noexcept override {
      try {
        thrum::go(std::move(f));
      } catch (...) {
        std::invoke(std::move(f));  // if no goroutine can be started here, f is called directly
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
