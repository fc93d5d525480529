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

#include <chrono>
#include <concepts>
#include <csignal>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace thrum {

struct options {
  // How many goroutines run at the same time, at most 1024. 0 means the value of the environment variable
  // THRUM_MAXPROCS, otherwise that of GOMAXPROCS, otherwise the number of CPUs that the affinity mask and the cgroup
  // quota allow.
  int max_procs = 0;
  // The program ends with an error message if it would need more OS threads than this.
  int max_threads = 10'000;
  // The stack size of each goroutine, main included: 16 KiB to 1 GiB. Only the pages that are touched cost memory.
  std::size_t stack_size = 256 * 1024;
  // The length of each P's run queue: a power of two from 4 to 256. Smaller values are meant for tests and
  // demonstrations.
  int local_queue_capacity = 256;
  // The signal that preempts goroutines. If another sender uses the same signal, thrum calls the program's own handler.
  int preempt_signal = SIGURG;
  // Preempts a goroutine after 10 ms so that others can run, even in a loop that calls no function.
  bool async_preemption = true;
  // When main returns, run stops a goroutine that is computing, except inside the C library, because the goroutine may
  // hold a lock there. If malloc is linked into the program (a static tcmalloc or jemalloc, or -static), run cannot
  // tell whether a goroutine is inside malloc, so it lets goroutines that compute go on. With true, run stops them
  // anyway. Such a goroutine may then hold a lock of malloc, and the next allocation waits forever. So set it only if
  // the goroutines do not allocate when main returns, or if the program ends with _exit.
  bool stop_beside_own_malloc = false;
  // Ends the program with "all goroutines are asleep - deadlock!" and exit code 2 if no goroutine can ever run again.
  bool deadlock_detection = true;
  // The memory of a stack that was unused for this long is returned to the system.
  std::chrono::nanoseconds scavenge_after = std::chrono::minutes(5);
  // A thread that was not needed for this long ends.
  std::chrono::nanoseconds idle_thread_after = std::chrono::minutes(1);
};

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
int run(F main, options chosen = {}) {
  static_assert(std::is_void_v<std::invoke_result_t<F&>> || std::is_convertible_v<std::invoke_result_t<F&>, int>,
                "main returns an int or nothing");
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

// An embedded scheduler: goroutines run on background threads while the thread that made the runtime goes on. That
// thread and any other thread may use `go`, channels, mutexes and the rest of thrum; a call that has to wait blocks the
// thread.
//
// The destructor stops all goroutines as the end of run does. A thread that waits in a call of thrum at that time, or
// begins one at that moment, stays in it for good; later calls throw std::logic_error. A runtime reports no deadlock,
// because a thread of the program may wake a goroutine at any time. A process can have one runtime at a time, and none
// during a run.
class runtime {
 public:
  explicit runtime(options chosen = {});
  ~runtime();
  runtime(runtime const&) = delete;
  runtime& operator=(runtime const&) = delete;

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace thrum
