// options: how a run or a runtime is set up.
//
//   thrum::run(main, {.max_procs = 4, .stack_size = 64 * 1024});
#pragma once

#include <thrum/detail/at_least_cxx20.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <string>

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
  // Serves a Unix socket to which the command `thrum` and other programs of the same user connect to look into this
  // process (docs/debug-socket.md). "default" chooses a path that the command finds by the process id. Otherwise it is
  // a path with a slash. Empty: there is no socket, unless the environment has THRUM_DEBUG=socket=1.
  std::string debug_socket{};
};

}  // namespace thrum
