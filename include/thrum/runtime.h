// class runtime, the embedded scheduler, and calls that concern the runtime as a whole. Statistics: <thrum/stats.h>.
// Dumps: <thrum/dump.h>.
//
//   int const before = thrum::set_max_procs(2);       // takes effect at once
//   { thrum::os_thread_lock const here; gl_draw(); }  // for libraries that are bound to a thread
//
// Thread safety: all of these may be called from any goroutine or thread while a runtime is alive; otherwise they throw
// std::logic_error, except num_cpus, which needs no runtime.
//
// Cost: set_max_procs stops the world for some hundred microseconds. So call it about once a second, not for every
// request. max_procs, num_goroutines and num_threads only read a few words. num_cpus reads files of /proc.
#pragma once

#include <thrum/detail/at_least_cxx20.h>
#include <thrum/dump.h>
#include <thrum/options.h>
#include <thrum/stats.h>

#include <memory>

namespace thrum {

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
  explicit runtime(options const& chosen = {});
  ~runtime();
  runtime(runtime const&) = delete;
  runtime& operator=(runtime const&) = delete;

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

[[nodiscard]] int max_procs();  // how many goroutines may run at the same time
// Changes the number of Ps to n and returns the previous number. Stops the world to do so. Changes nothing if n is not
// positive. Throws std::invalid_argument if n is more than 1,024.
int set_max_procs(int n);
[[nodiscard]] int num_goroutines();  // how many exist, main included
[[nodiscard]] int num_threads();     // OS threads of the scheduler, including the thread that called run
[[nodiscard]] int num_cpus();        // CPUs that the affinity mask and the cgroup quota allow

// Locks the calling goroutine to an OS thread until unlock_os_thread was called as many times as lock_os_thread. The
// goroutine runs on no other thread, and the thread runs no other goroutine. This is for libraries and settings that
// are bound to a thread. While the goroutine waits, other goroutines use its P. If a goroutine ends while it is locked,
// its thread ends too. unlock_os_thread does nothing if the goroutine is not locked.
//
// The goroutine is locked to the thread that it is on, except in two cases: the thread is the first one and runs this
// goroutine because main joined it in place, or other goroutines have to come back to the thread from a call of the C
// library (thrum::posix). In these cases the goroutine moves to another thread before it is locked, and may move back
// when it is unlocked. So both functions may change the thread: do not hold a std::mutex or the address of a
// thread_local across them.
//
// A goroutine that has to come back to its thread itself does not move. This is a goroutine that holds a recursive
// mutex of the C library (thrum::posix_locks), or is inside a call of the C library (thrum::posix) that calls a
// function of the program. It stays on the thread, but other such goroutines run there too while it waits.
void lock_os_thread();
void unlock_os_thread();
class [[nodiscard]] os_thread_lock {
 public:
  os_thread_lock() { lock_os_thread(); }
  ~os_thread_lock() { unlock_os_thread(); }
  os_thread_lock(os_thread_lock const&) = delete;
  os_thread_lock& operator=(os_thread_lock const&) = delete;
};

// Sets the limit of OS threads (options::max_threads) and returns the previous one. If there are more threads already,
// or if the program needs more later, it ends with a message. Throws std::invalid_argument if the limit is less than
// one.
int set_max_threads(int limit);

}  // namespace thrum
