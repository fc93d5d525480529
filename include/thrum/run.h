// run: the scheduler's life.
//
//   int main() {
//     return thrum::run([] {
//       thrum::go([] { std::puts("hello from a goroutine"); });
//       thrum::yield();
//     });
//   }
//
// The calling thread becomes the first M and runs only the main goroutine; further threads are made when goroutines need
// them, as many at once as max_procs allows. When main returns, the other goroutines stop where they are.
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
  int max_procs =
      0;  // how many goroutines run at once. 0: THRUM_MAXPROCS, then GOMAXPROCS, then the CPUs that affinity
          // and the cgroup quota allow; at most 1024
  int max_threads = 10'000;             // passing it ends the program with a clear message
  std::size_t stack_size = 256 * 1024;  // of each goroutine, main too, 16 KiB to 1 GiB; only touched pages cost memory
  int local_queue_capacity = 256;       // a power of two, 4..256; smaller only to show or test the queue's edges
  int preempt_signal = SIGURG;          // ends slices; what others send by it goes to the program's own handler
  bool async_preemption = true;  // after 10 ms a goroutine makes room for others, also in a loop that calls nothing
  // When main returns, a goroutine that computes is stopped where it is, but not inside the C library, whose locks it may hold. With a
  // malloc that is linked into the program (a static tcmalloc or jemalloc, or -static) the two cannot be told apart, and goroutines
  // that compute go on. true: they are stopped all the same, perhaps with a lock of malloc's, so that the next allocation waits for ever:
  // for programs whose goroutines do not allocate when main returns, or that leave by _exit.
  bool stop_beside_own_malloc = false;
  bool deadlock_detection = true;  // "all goroutines are asleep - deadlock!" and exit code 2
  std::chrono::nanoseconds scavenge_after = std::chrono::minutes(5);     // memory of stacks idle for so long goes back
  std::chrono::nanoseconds idle_thread_after = std::chrono::minutes(1);  // a thread that nobody needed for so long ends
};

namespace detail {

// Runs main(context) as the main goroutine. Returns when it has ended, rethrows what it threw. Throws std::invalid_argument for options outside
// the rules, std::logic_error for a run inside a run, std::system_error when the system denies memory.
void run_main(void (*main)(void*), void* context, options const& chosen);

}  // namespace detail

// Runs main as the main goroutine and returns its int, or 0 for void. An exception that leaves main leaves run. May be
// called again after it has returned; not inside itself.
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

// The same, embedded: goroutines run on threads in the background while the owner's thread goes on, as does any other thread;
// all of them may use `go`, channels, mutexes and the rest, and block as threads. The destructor ends everything as the end of run
// does: a thread that waits in a call of thrum then, or begins one at that very moment, stays there for good; later calls throw
// std::logic_error. No deadlock is reported, since nobody knows what the others will do. One at a time in a process, and not beside run.
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
