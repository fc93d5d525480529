// group: goroutines that belong together, and none of which outlives its scope (structured concurrency; Go's errgroup).
//
//   thrum::group downloads(ctx);
//   downloads.limit(8);                                    // at most so many at once
//   for (auto& url : urls) {
//     downloads.go([&] { fetch(downloads.context(), url); });
//   }
//   downloads.wait();                                      // rethrows the first exception
//
//   if (!downloads.try_go(job)) job();                     // where the limit is reached: here, instead of waiting
//
// The first exception that leaves a member cancels the group's context, with itself as the cause: the others see it in
// context() and can stop. wait() returns when all have ended. The destructor waits, too, so that members may refer to
// whatever was declared before the group; a scope that is left by an exception, or by goexit, cancels them first. A member
// that leaves by goexit has ended, without an exception.
//
// Thread safety: go, try_go, cancel and context may be called by anybody while the group lives, its members included. wait
// blocks the goroutine, as does go while the limit is reached.
#pragma once

#include <thrum/chan.h>
#include <thrum/context.h>
#include <thrum/defer.h>
#include <thrum/detail/atomic.h>
#include <thrum/detail/forced_unwind.h>
#include <thrum/go.h>
#include <thrum/wait_group.h>

#include <concepts>
#include <cstddef>
#include <exception>
#include <functional>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

namespace thrum {

class group {
 public:
  static constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();

  group() : group(thrum::context::background()) {}
  explicit group(thrum::context const& parent);  // cancelled with the parent
  group(group const&) = delete;
  group& operator=(group const&) = delete;
  ~group();

  // Done when a member has failed, when cancel() was called, when the parent is, and when the group is gone.
  [[nodiscard]] thrum::context const& context() const noexcept { return own_.ctx; }
  void cancel(std::exception_ptr cause = nullptr) { own_.cancel(std::move(cause)); }

  // At most n members at once, of those that are started from now on. 0 throws std::invalid_argument. Not beside a go.
  void limit(std::size_t n);

  // Runs f as a member. While the limit is reached it waits for another one's end: a member that adds to its own full group
  // may wait for ever.
  template <class F>
  requires std::invocable<std::decay_t<F>>
  void go(F&& f) {
    detail::require_callable(f);
    if (places_) places_.send({});
    start(std::forward<F>(f));
  }

  // The same unless it would have to wait: then false, and f is left as it was.
  template <class F>
  requires std::invocable<std::decay_t<F>>
  [[nodiscard]] bool try_go(F&& f) {
    detail::require_callable(f);
    if (places_ && !places_.try_send({})) return false;
    start(std::forward<F>(f));
    return true;
  }

  // Returns when all members have ended; rethrows the exception of the first that failed, each time.
  void wait();

 private:
  using places = chan<std::monostate>;  // full when the limit is reached; nil without one

  // What a member holds until it ends: a count, and the place that was taken for it.
  class membership {
   public:
    explicit membership(group& of) : of_(&of), place_(of.places_) { of.members_.add(1); }
    membership(membership&& other) noexcept : of_(std::exchange(other.of_, nullptr)), place_(std::move(other.place_)) {}
    membership& operator=(membership&&) = delete;
    ~membership() {
      if (of_ == nullptr) return;
      if (place_) static_cast<void>(place_.try_recv());
      of_->members_.done();  // the group may be gone from here on
    }
    [[nodiscard]] group& of() const noexcept { return *of_; }

   private:
    group* of_;
    places place_;
  };

  template <class F>
  void start(F&& f) {
    thrum::go([membership = membership(*this), f = std::optional<std::decay_t<F>>(std::forward<F>(f))]() mutable {
      auto const mine = std::move(membership);
      defer const last = [&] { f.reset(); };  // before the membership ends: when wait() returns nothing of f is left
      try {
        std::invoke(std::move(*f));
      } catch (...) {
        if (detail::is_forced_unwind()) throw;  // goexit
        mine.of().failed(std::current_exception());
      }
    });
  }
  void failed(std::exception_ptr error) noexcept;

  cancelable own_;
  places places_{nullptr};
  int const unwindings_;  // when it was made: exceptions in flight and a goexit

  // written by the first that failed, read when all have ended
  detail::atomic<bool> has_failed_{false};
  std::exception_ptr error_;

  wait_group members_;
};

}  // namespace thrum
