// run: starts the scheduler, runs the main goroutine, and stops the scheduler when main returns.
//
//   int main() {
//     return thrum::run([] {
//       thrum::go([] { std::puts("hello from a goroutine"); });
//       thrum::yield();
//     });
//   }
//
// The thread that calls run becomes the first M, and it runs only the main goroutine. The scheduler makes further
// threads when goroutines need them; max_procs limits how many of them run goroutines at the same time. When main
// returns, run stops the other goroutines where they are.
#pragma once

#include <thrum/detail/at_least_cxx20.h>
#include <thrum/detail/callable.h>
#include <thrum/options.h>
#include <thrum/runtime.h>

#include <concepts>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace thrum {

namespace detail {

// Runs main(context) as the main goroutine and returns when it has ended. Rethrows an exception that left main. Throws
// std::invalid_argument for invalid options, std::logic_error for a run inside a run, and std::system_error if the
// system has no memory.
void run_main(void (*main)(void*), void* context, options const& chosen);

}  // namespace detail

// Runs main as the main goroutine and returns its int, or 0 if main returns void. An exception that leaves main leaves
// run. A program may call run again after it has returned, but not inside a run.
template <class F>
requires std::invocable<F&>
int run(F main, options const& chosen = {}) {
  static_assert(std::is_void_v<std::invoke_result_t<F&>> || std::is_convertible_v<std::invoke_result_t<F&>, int>,
                "the function that thrum::run calls must return int or void");
  struct state {
    F& main;
    int result = 0;
  } self{main};
  detail::require_callable(main);
  detail::run_main(
      [](void* context) {
        auto& my = *static_cast<state*>(context);
        if constexpr (std::is_void_v<std::invoke_result_t<F&>>) {
          my.main();
        } else {
          my.result = my.main();
        }
      },
      &self, chosen);
  return self.result;
}

}  // namespace thrum
