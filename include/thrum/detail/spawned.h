// A goroutine that is joined: its callable, and later its result, in the same storage.
#pragma once

#include <thrum/detail/callable.h>
#include <thrum/detail/forced_unwind.h>
#include <thrum/detail/task.h>

#include <exception>
#include <memory>
#include <new>
#include <tuple>
#include <type_traits>
#include <utility>

namespace thrum::detail {

enum class outcome : unsigned char { none, value, error };

struct no_value {};

// What a handle of R can read without knowing F: how the goroutine ended, and its result.
template <class R>
struct result_slot {
  using value_type = std::conditional_t<std::is_void_v<R>, no_value,
                                        std::conditional_t<std::is_reference_v<R>, std::remove_reference_t<R>*, R>>;
  outcome how = outcome::none;
  union {
    value_type value;
    std::exception_ptr error;
  };

  result_slot() noexcept {}  // NOLINT(modernize-use-equals-default): the union starts empty
  ~result_slot() {
    if (how == outcome::value) std::destroy_at(&value);
    if (how == outcome::error) std::destroy_at(&error);
  }
  result_slot(result_slot const&) = delete;
  result_slot& operator=(result_slot const&) = delete;
};

template <class F, class... Args>
struct spawned_call {
  using result = std::invoke_result_t<F, Args...>;
  using slot = result_slot<result>;

  // The callable until the goroutine runs, and the slot afterwards. Both are at the same address.
  struct callable {
    [[no_unique_address]] F f;
    [[no_unique_address]] std::tuple<Args...> args;
  };
  union {
    callable call;
    slot ended;
  };

  template <class F2, class... Args2>
  explicit spawned_call(F2&& f2, Args2&&... args2) noexcept(
      std::is_nothrow_constructible_v<F, F2>&& std::is_nothrow_constructible_v<std::tuple<Args...>, Args2...>)
      : call{F(std::forward<F2>(f2)), std::tuple<Args...>(std::forward<Args2>(args2)...)} {}
  ~spawned_call() {}  // NOLINT(modernize-use-equals-default): the slot is destroyed by hand

  static void step(task& self, task_step what) {
    if (what == task_step::drop) {
      drop(self);
    } else {
      run(self);
    }
  }

  static void drop(task& self) noexcept {
    std::destroy_at(&stored<spawned_call>(self).ended);
    destroy_stored<spawned_call>(self);
  }

  static void run(task& self) {
    spawned_call& whole = stored<spawned_call>(self);
    slot& out = whole.ended;
    bool has_slot = false;
    auto const turn_into_slot = [&] {
      std::destroy_at(&whole.call);
      std::construct_at(&whole.ended);
      has_slot = true;
    };
    try {
      // The callable is first moved out of the shared storage, because the result is built there while the callable is
      // in use.
      callable mine(std::move(whole.call));
      turn_into_slot();
      if constexpr (std::is_void_v<result>) {
        invoke(mine);
        out.how = outcome::value;
      } else if constexpr (std::is_reference_v<result>) {
        auto&& reference = invoke(mine);
        std::construct_at(&out.value, std::addressof(reference));
        out.how = outcome::value;
      } else {
        ::new (static_cast<void*>(std::addressof(out.value))) typename slot::value_type(invoke(mine));
        out.how = outcome::value;
      }
    } catch (...) {
      if (is_forced_unwind()) throw;    // goexit: there is no result
      if (!has_slot) turn_into_slot();  // the move constructor threw
      std::construct_at(&out.error, std::current_exception());
      out.how = outcome::error;
    }
  }

  static decltype(auto) invoke(callable& mine) {
    return std::apply(
        [&](Args&... values) -> decltype(auto) { return std::invoke(std::move(mine.f), std::move(values)...); },
        mine.args);
  }
};

}  // namespace thrum::detail
