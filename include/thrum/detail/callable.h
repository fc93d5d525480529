// How a callable is stored in a goroutine's record: in place if it is small, otherwise on the heap.
#pragma once

#include <thrum/detail/task.h>

#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>

namespace thrum::detail {

// Throws std::invalid_argument for a size that is not allowed.
std::size_t checked_stack_bytes(std::size_t bytes);

// What is stored as a copy and called without arguments, perhaps more than once.
template <class F>
concept callback = std::invocable<std::add_lvalue_reference_t<std::decay_t<F>>>;

// What is stored as copies and called once, by a goroutine.
template <class F, class... Args>
concept goroutine_call = std::invocable<std::decay_t<F>, std::decay_t<Args>...>;

// Throws std::invalid_argument for a null function pointer, an empty std::function and similar callables. So the error
// appears where the goroutine is made, not where it runs.
template <class F>
void require_callable(F const& f) {
  if constexpr (!std::is_function_v<F> && requires { static_cast<bool>(f == nullptr); }) {
    if (f == nullptr) throw std::invalid_argument("thrum: the callable that was passed to go, spawn or run is empty");
  }
}

template <class T>
inline constexpr bool fits_inline = sizeof(T) <= task_inline_bytes && alignof(T) <= task_inline_align;

// The object in the storage of a task, or the object that the pointer there points to.
template <class T>
T& stored(task& holder) noexcept {
  if constexpr (fits_inline<T>) {
    return *std::launder(reinterpret_cast<T*>(holder.storage));
  } else {
    return **std::launder(reinterpret_cast<T**>(holder.storage));
  }
}

template <class T, class... Args>
void store(task& holder, Args&&... args) {
  if constexpr (fits_inline<T>) {
    ::new (static_cast<void*>(holder.storage)) T(std::forward<Args>(args)...);
  } else {
    ::new (static_cast<void*>(holder.storage)) T*(new T(std::forward<Args>(args)...));
  }
}

template <class T>
void destroy_stored(task& holder) noexcept {
  if constexpr (fits_inline<T>) {
    std::destroy_at(&stored<T>(holder));
  } else {
    delete &stored<T>(holder);
  }
}

// The call f(args...) of a goroutine that is not joined.
template <class F, class... Args>
struct detached_call {
  template <class F2, class... Args2>
  explicit detached_call(F2&& f2, Args2&&... args2) : f(std::forward<F2>(f2)), args(std::forward<Args2>(args2)...) {}

  static void step(task& self, task_step) {
    struct destroyer {
      task& holder;
      ~destroyer() { destroy_stored<detached_call>(holder); }
    } const at_end{self};
    detached_call& call = stored<detached_call>(self);
    std::apply([&](Args&... values) { std::invoke(std::move(call.f), std::move(values)...); }, call.args);
  }

  [[no_unique_address]] F f;
  [[no_unique_address]] std::tuple<Args...> args;
};

// Makes a goroutine that runs a `Call` made from a callable and its arguments, and starts it.
template <class Call, class F, class... Args>
[[gnu::always_inline]] inline task& start(joinable kind, std::size_t stack_bytes, F&& f, Args&&... args) {
  require_callable(f);
  task& made = new_task(kind, stack_bytes);
  if constexpr (fits_inline<Call> && std::is_nothrow_constructible_v<Call, F, Args...>) {
    store<Call>(made, std::forward<F>(f), std::forward<Args>(args)...);
  } else {
    try {
      store<Call>(made, std::forward<F>(f), std::forward<Args>(args)...);
    } catch (...) {
      discard_task(made);
      throw;
    }
  }
  made.step = &Call::step;
  start_task(made);
  return made;
}

}  // namespace thrum::detail
