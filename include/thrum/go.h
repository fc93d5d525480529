// Goroutines: go, spawn, yield, goexit.
//
//   thrum::go([] { serve(); });                               // runs concurrently; nobody waits for it
//   auto answer = thrum::spawn([] { return compute(); });     // its result, or its exception, comes out of join()
//   use(answer.join());
//
// Thread safety: all of these may be called from any goroutine at any time; `go`, `spawn` and join also from any other thread while a
// runtime is alive. yield, goexit and this_goroutine are for goroutines: std::logic_error elsewhere. `go` and `spawn` never block and never
// switch. They cost some tens of nanoseconds; a callable of up to 80 bytes is stored in the goroutine's own record.
#pragma once

#include <thrum/detail/at_least_cxx20.h>
#include <thrum/detail/callable.h>
#include <thrum/detail/deadline.h>
#include <thrum/detail/spawned.h>
#include <thrum/detail/task.h>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string_view>
#include <type_traits>
#include <utility>

namespace thrum {

// A goroutine's own reserve of stack, instead of options::stack_size: `thrum::go(thrum::stack_size{1 << 20}, f)`.
// From 16 KiB to 1 GiB; only the pages it touches cost memory. Without it a goroutine, main included, has 256 KiB. A stack does not grow:
// an overflow ends the program with a report that names the goroutine and its frames.
struct stack_size {
  std::size_t bytes;
};

// Thrown by join() when the goroutine left by goexit and so has no result.
class goroutine_exited : public std::logic_error {
 public:
  goroutine_exited() : std::logic_error("thrum: the goroutine left by goexit") {}
};

// Starts f(args...) as a goroutine; f and args are decay-copied. An exception that leaves it ends the program with a
// report and exit code 2. An empty callable throws std::invalid_argument at once.
template <class F, class... Args>
requires std::invocable<std::decay_t<F>, std::decay_t<Args>...>
[[gnu::always_inline]] inline void go(F&& f, Args&&... args) {
  detail::start<detail::detached_call<std::decay_t<F>, std::decay_t<Args>...>>(
      detail::joinable::no, 0, std::forward<F>(f), std::forward<Args>(args)...);
}

template <class F, class... Args>
requires std::invocable<std::decay_t<F>, std::decay_t<Args>...>
[[gnu::always_inline]] inline void go(stack_size stack, F&& f, Args&&... args) {
  detail::start<detail::detached_call<std::decay_t<F>, std::decay_t<Args>...>>(
      detail::joinable::no, detail::checked_stack_bytes(stack.bytes), std::forward<F>(f), std::forward<Args>(args)...);
}

// The right to the result of one spawned goroutine. Movable; a handle that is dropped detaches.
template <class R>
class [[nodiscard]] join_handle {
 public:
  join_handle() noexcept = default;
  join_handle(join_handle&& other) noexcept : task_(std::exchange(other.task_, nullptr)), slot_(other.slot_) {}
  join_handle& operator=(join_handle&& other) noexcept {
    if (this != &other) {
      detach();
      task_ = std::exchange(other.task_, nullptr);
      slot_ = other.slot_;
    }
    return *this;
  }
  ~join_handle() { detach(); }

  // Waits for the goroutine to end; its result, or its exception. If it has not started yet it is run right here. Throws
  // std::logic_error on a handle that is empty or was joined before, goroutine_exited after a goexit. Blocks the
  // goroutine, never its thread.
  R join() {
    if (task_ == nullptr) throw std::logic_error("thrum: join() on a handle without a goroutine");
    detail::join_task(*task_);
    struct ender {
      detail::task& joined;
      ~ender() {
        joined.step(joined, detail::task_step::drop);
        detail::release_task(joined);
      }
    } const at_end{*std::exchange(task_, nullptr)};
    if (slot_->how == detail::outcome::none) throw goroutine_exited();
    if (slot_->how == detail::outcome::error) std::rethrow_exception(std::move(slot_->error));
    if constexpr (std::is_reference_v<R>) {
      return static_cast<R>(*slot_->value);
    } else if constexpr (!std::is_void_v<R>) {
      return std::move(slot_->value);
    }
  }

  // Waits no longer than that for the goroutine to end. True: it has, and join() answers at once. It is not run in place.
  template <class Rep, class Period>
  [[nodiscard]] bool join_for(std::chrono::duration<Rep, Period> const& d) {
    return ended_by([&](detail::task& joined) { return detail::join_task_until(joined, detail::deadline_after(d)); });
  }
  // Likewise, until a moment. If it is one of another clock, that clock says when it has come.
  template <class Clock, class Duration>
  [[nodiscard]] bool join_until(std::chrono::time_point<Clock, Duration> const& when) {
    return ended_by([&](detail::task& joined) {
      return detail::attempt_until(when, [&](std::int64_t ns) { return detail::join_task_until(joined, ns); });
    });
  }

  [[nodiscard]] bool joinable() const noexcept { return task_ != nullptr; }
  [[nodiscard]] bool done() const noexcept { return task_ != nullptr && detail::task_finished(*task_); }

  // Lets the goroutine go on without anybody waiting for it.
  void detach() noexcept {
    if (task_ != nullptr) detail::detach_task(*std::exchange(task_, nullptr));
  }

  // Internal: spawn makes it.
  join_handle(detail::task& started, detail::result_slot<R>& slot) noexcept : task_(&started), slot_(&slot) {}

 private:
  template <class Wait>
  [[nodiscard]] bool ended_by(Wait wait) {
    if (task_ == nullptr) throw std::logic_error("thrum: join_for() on a handle without a goroutine");
    return wait(*task_);
  }

  detail::task* task_ = nullptr;
  detail::result_slot<R>* slot_ = nullptr;
};

// As go, but the result or the exception of f comes out of the handle's join().
template <class F, class... Args>
requires std::invocable<std::decay_t<F>, std::decay_t<Args>...>
[[gnu::always_inline]] inline auto spawn(F&& f, Args&&... args) {
  using call = detail::spawned_call<std::decay_t<F>, std::decay_t<Args>...>;
  detail::task& started =
      detail::start<call>(detail::joinable::yes, 0, std::forward<F>(f), std::forward<Args>(args)...);
  return join_handle<typename call::result>(started, detail::stored<call>(started).ended);
}

template <class F, class... Args>
requires std::invocable<std::decay_t<F>, std::decay_t<Args>...>
[[gnu::always_inline]] inline auto spawn(stack_size stack, F&& f, Args&&... args) {
  using call = detail::spawned_call<std::decay_t<F>, std::decay_t<Args>...>;
  detail::task& started = detail::start<call>(detail::joinable::yes, detail::checked_stack_bytes(stack.bytes),
                                              std::forward<F>(f), std::forward<Args>(args)...);
  return join_handle<typename call::result>(started, detail::stored<call>(started).ended);
}

// Lets others run: the caller goes to the back of its P's queue. Returns at once if nobody else is runnable there.
void yield();

// Ends this goroutine: unwinds it, so that destructors and defers run. They see no exception, and a catch (...) on the
// way cannot stop it. In the main goroutine: the others go on.
[[noreturn]] void goexit();

namespace this_goroutine {

[[nodiscard]] std::uint64_t id();      // 1 is main
void set_name(std::string_view name);  // shown in reports
[[nodiscard]] std::string_view name();

}  // namespace this_goroutine

// What an on_panic function is told.
struct panic_info {
  std::uint64_t goroutine;
  char const* what;        // the exception's what(), or its type
  void const* created_at;  // program counter of the `go`
};

// A last word before exit 2, on the goroutine whose exception nobody caught, after the report on it and on all others (which
// THRUM_DEBUG=traceback=single leaves out). It may wait; if nobody can ever wake it, a line says so and the program ends. Replaces the
// previous one; empty removes it.
void on_panic(std::function<void(panic_info const&)> last_word);

}  // namespace thrum
