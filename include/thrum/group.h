// group: a set of goroutines, its members, that all end before the group does (structured concurrency; Go's errgroup).
//
//   thrum::group downloads(ctx);
//   downloads.limit(8);                                    // at most 8 at the same time
//   for (auto& url : urls) {
//     downloads.go([&] { fetch(downloads.context(), url); });
//   }
//   downloads.wait();                                      // rethrows the first exception
//
//   if (!downloads.try_go(job)) job();                     // if the limit is reached, runs job here instead of waiting
//
// The first exception that leaves a member cancels the group's context and becomes its cause. The other members see
// that in context() and can stop. wait() returns when all members have ended. The destructor waits too, so members may
// refer to anything that was declared before the group. If the scope is left by an exception or by goexit, the
// destructor cancels the context first. A member that leaves by goexit has ended without an exception.
//
// Thread safety: any goroutine may call go, try_go, cancel and context while the group lives, and so may its members.
// wait blocks the goroutine, and so does go while the limit is reached.
#pragma once

#include <thrum/chan.h>
#include <thrum/context.h>
#include <thrum/defer.h>
#include <thrum/detail/atomic.h>
#include <thrum/detail/callable.h>
#include <thrum/detail/forced_unwind.h>
#include <thrum/go.h>
#include <thrum/wait_group.h>

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

  // Done when a member has failed, when cancel() was called, when the parent is done, and when the group was destroyed.
  [[nodiscard]] thrum::context const& context() const noexcept { return own_.ctx; }
  void cancel(std::exception_ptr cause = nullptr) { own_.cancel(std::move(cause)); }

  // At most n members run at the same time, counting those that are started after this call. 0 throws
  // std::invalid_argument. Do not call it at the same time as go.
  void limit(std::size_t n);

  // Runs f as a member. While the limit is reached, go waits until a member ends. A member that calls go of its own
  // full group may therefore wait forever. It is inlined, so reports show the caller's line as the place of creation.
  template <detail::goroutine_call F>
  [[gnu::always_inline]] void go(F&& f) {
    detail::require_callable(f);
    if (places_) places_.send({});
    start(std::forward<F>(f));
  }

  // Like go, but if it would have to wait it returns false and leaves f unchanged.
  template <detail::goroutine_call F>
  [[nodiscard, gnu::always_inline]] bool try_go(F&& f) {
    detail::require_callable(f);
    if (places_ && !places_.try_send({})) return false;
    start(std::forward<F>(f));
    return true;
  }

  // Returns when all members have ended. If a member failed, each call rethrows the first exception.
  void wait();

 private:
  using places = chan<std::monostate>;  // full when the limit is reached; nil without a limit

  // What a member holds until it ends: its count, and the place that was taken for it.
  class membership {
   public:
    explicit membership(group& of) : of_(&of), place_(of.places_) { of.members_.add(1); }
    membership(membership&& other) noexcept : of_(std::exchange(other.of_, nullptr)), place_(std::move(other.place_)) {}
    membership& operator=(membership&&) = delete;
    ~membership() {
      if (of_ == nullptr) return;
      if (place_) static_cast<void>(place_.try_recv());
      of_->members_.done();  // after this the group may be destroyed
    }
    [[nodiscard]] group& of() const noexcept { return *of_; }

   private:
    group* of_;
    places place_;
  };

  template <class F>
  [[gnu::always_inline]] void start(F&& f) {
    thrum::go([membership = membership(*this), f = std::optional<std::decay_t<F>>(std::forward<F>(f))]() mutable {
      auto const mine = std::move(membership);
      defer const last = [&] { f.reset(); };  // before the membership ends, so that f is destroyed when wait() returns
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
  // Exceptions in flight when the group was made, plus one during a goexit.
  int const unwindings_;

  // Written by the first member that failed, and read when all members have ended.
  detail::atomic<bool> has_failed_{false};
  std::exception_ptr error_;

  wait_group members_;
};

}  // namespace thrum
