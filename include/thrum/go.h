// Goroutines: go, spawn, yield, goexit.
//
//   thrum::go([] { serve(); });                               // runs concurrently, and is not joined
//   auto answer = thrum::spawn([] { return compute(); });     // join() returns its result or throws its exception
//   use(answer.join());
//
// Thread safety: any goroutine may call these at any time. Any other thread may call `go`, `spawn` and join while a
// runtime is alive. yield, goexit and this_goroutine are for goroutines only and throw std::logic_error elsewhere.
//
// Cost: `go` and `spawn` never block and never switch to another goroutine. They take some tens of nanoseconds. A
// callable of up to 80 bytes is stored in the goroutine's record, without an allocation.
#pragma once

#include <thrum/detail/at_least_cxx20.h>
#include <thrum/detail/callable.h>
#include <thrum/detail/deadline.h>
#include <thrum/detail/spawned.h>
#include <thrum/detail/task.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string_view>
#include <type_traits>
#include <utility>

namespace thrum {

// The stack size of one goroutine, used instead of options::stack_size: `thrum::go(thrum::stack_size{1 << 20}, f)`. It
// is 16 KiB to 1 GiB, and only the pages that are touched cost memory. The default, also for main, is 256 KiB. A stack
// does not grow: an overflow ends the program with a report that names the goroutine and its frames.
struct stack_size {
  std::size_t bytes;
};

// Thrown by join() if the goroutine left by goexit and therefore has no result.
class goroutine_exited : public std::logic_error {
 public:
  goroutine_exited() : std::logic_error("thrum: join: the goroutine ended by goexit, so it has no result") {}
};

// Starts f(args...) as a goroutine; f and args are decay-copied. An exception that leaves f ends the program with a
// report and exit code 2. An empty callable throws std::invalid_argument at once.
template <class F, class... Args>
requires detail::goroutine_call<F, Args...>
[[gnu::always_inline]] inline void go(F&& f, Args&&... args) {
  detail::start<detail::detached_call<std::decay_t<F>, std::decay_t<Args>...>>(
      detail::joinable::no, 0, std::forward<F>(f), std::forward<Args>(args)...);
}

template <class F, class... Args>
requires detail::goroutine_call<F, Args...>
[[gnu::always_inline]] inline void go(stack_size stack, F&& f, Args&&... args) {
  detail::start<detail::detached_call<std::decay_t<F>, std::decay_t<Args>...>>(
      detail::joinable::no, detail::checked_stack_bytes(stack.bytes), std::forward<F>(f), std::forward<Args>(args)...);
}

// The handle of one spawned goroutine, for its result. It can be moved. If it is dropped, the goroutine is detached.
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

  // Waits for the goroutine to end, and returns its result or throws its exception. If the goroutine has not started,
  // it may run right here, on the caller's stack. Throws std::logic_error if the handle is empty or was joined already,
  // and goroutine_exited after a goexit. Blocks the calling goroutine, never its thread.
  R join() {
    if (task_ == nullptr)
      throw std::logic_error(
          "thrum: join: the join_handle has no goroutine, because it is empty or was joined, detached or moved from");
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

  // Waits for the goroutine to end, for at most this long. Returns true if it has ended; join() then returns at once.
  // The goroutine is not run in place.
  template <class Rep, class Period>
  [[nodiscard]] bool join_for(std::chrono::duration<Rep, Period> const& d) {
    return ended_by([&](detail::task& joined) { return detail::join_task_until(joined, detail::deadline_after(d)); });
  }
  // Waits until a point in time. If it belongs to another clock, that clock decides when it has come.
  template <class Clock, class Duration>
  [[nodiscard]] bool join_until(std::chrono::time_point<Clock, Duration> const& when) {
    return ended_by([&](detail::task& joined) {
      return detail::attempt_until(when, [&](std::int64_t ns) { return detail::join_task_until(joined, ns); });
    });
  }

  [[nodiscard]] bool joinable() const noexcept { return task_ != nullptr; }
  [[nodiscard]] bool done() const noexcept { return task_ != nullptr && detail::task_finished(*task_); }

  // Lets the goroutine go on without being joined.
  void detach() noexcept {
    if (task_ != nullptr) detail::detach_task(*std::exchange(task_, nullptr));
  }

  // Internal: called by spawn.
  join_handle(detail::task& started, detail::result_slot<R>& slot) noexcept : task_(&started), slot_(&slot) {}

 private:
  template <class Wait>
  [[nodiscard]] bool ended_by(Wait wait) {
    if (task_ == nullptr)
      throw std::logic_error(
          "thrum: join_for: the join_handle has no goroutine, because it is empty or was joined, detached or moved "
          "from");
    return wait(*task_);
  }

  detail::task* task_ = nullptr;
  detail::result_slot<R>* slot_ = nullptr;
};

// Like go, but join() of the handle returns the result of f or throws its exception.
template <class F, class... Args>
requires detail::goroutine_call<F, Args...>
[[gnu::always_inline]] inline auto spawn(F&& f, Args&&... args) {
  using call = detail::spawned_call<std::decay_t<F>, std::decay_t<Args>...>;
  detail::task& started =
      detail::start<call>(detail::joinable::yes, 0, std::forward<F>(f), std::forward<Args>(args)...);
  return join_handle<typename call::result>(started, detail::stored<call>(started).ended);
}

template <class F, class... Args>
requires detail::goroutine_call<F, Args...>
[[gnu::always_inline]] inline auto spawn(stack_size stack, F&& f, Args&&... args) {
  using call = detail::spawned_call<std::decay_t<F>, std::decay_t<Args>...>;
  detail::task& started = detail::start<call>(detail::joinable::yes, detail::checked_stack_bytes(stack.bytes),
                                              std::forward<F>(f), std::forward<Args>(args)...);
  return join_handle<typename call::result>(started, detail::stored<call>(started).ended);
}

// Lets other goroutines run: the caller goes to the end of its P's run queue. Returns at once if no other goroutine is
// runnable there.
void yield();

// Ends the calling goroutine by unwinding its stack, so that destructors and defers run. They see no exception, and a
// catch (...) on the way cannot stop the unwinding. If the main goroutine calls it, the other goroutines go on.
[[noreturn]] void goexit();

namespace this_goroutine {

[[nodiscard]] std::uint64_t id();      // main has 1
void set_name(std::string_view name);  // the name is shown in reports
[[nodiscard]] std::string_view name();

}  // namespace this_goroutine

// What the on_panic function gets.
struct panic_info {
  std::uint64_t goroutine;
  char const* what;        // the exception's what(), or the name of its type
  void const* created_at;  // program counter of the `go`
};

// Sets a function that is called before the program ends with exit code 2 because an exception left a goroutine. It
// runs on that goroutine, after the report on it and on all other goroutines (THRUM_DEBUG=traceback=single leaves the
// others out). The function may wait; if no goroutine can ever wake it, thrum prints a line that says so and the
// program ends. A new function replaces the previous one, and an empty one removes it.
void on_panic(std::function<void(panic_info const&)> last_word);

}  // namespace thrum
