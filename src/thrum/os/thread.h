// Threads of the operating system, on which Ms run.
//
// Creating and joining threads and asking for stack bounds go through libc, which allocates and takes its own locks. So
// these functions must not be called with the in-runtime mark set, under a lock of the runtime, on sysmon or in a
// signal handler (T01). yield_thread, set_thread_name and count_process_threads allocate nothing and may be called
// anywhere.
#pragma once

#include "base/current_tid.h"

#include <limits>

#include <pthread.h>

namespace thrum::rt::os {

struct thread {
  pthread_t handle;
};

// Starts a thread with libc's default stack (S29: 8 MB unless `ulimit -s` says otherwise). Returns 0 or the errno.
// EAGAIN is the error that a user can do something about (S22).
//
// All signals are blocked during the creation (S22), because a handler must not run on a thread that is half made. With
// takes_signals::as_its_creator the new thread starts with the caller's mask, so that handlers can run on it.
//
// takes_signals::only_its_own is for threads that serve the runtime, on which no handler of the program may run. The
// code that the handler interrupts may hold a lock of the runtime. The handler may wait for something that a goroutine
// holds, and that goroutine's turn may depend on this thread; the handlers of a profiler wait for each other. So such a
// thread takes only the signals of faults that it causes itself, and other threads take all other signals.
enum class takes_signals : bool { as_its_creator, only_its_own };
[[nodiscard]] int create_thread(thread& out, void* (*entry)(void*), void* argument,
                                takes_signals which = takes_signals::as_its_creator) noexcept;

// Waits until the thread has ended. If `tid` is not 0, it also waits until /proc does not list the thread, which is a
// little later, because /proc is where threads are counted. `tid` is a reference because the thread itself may write
// it.
void join_thread(thread& joined, int const& tid = 0) noexcept;
// The same if the thread has ended. Otherwise returns false at once, because destructors of the thread's thread-locals
// may run for any time.
[[nodiscard]] bool join_thread_if_ended(thread& joined, int const& tid) noexcept;
void detach_thread(thread& detached) noexcept;

using rt::current_tid;

[[nodiscard]] int process_id() noexcept;  // differs in a child of fork

// Has f called when the calling thread ends, after the destructors of its thread-locals. The argument of f has no
// meaning. All calls in a process must pass the same f. Returns false if libc has no key or memory left.
[[nodiscard]] bool call_at_thread_end(void (*f)(void*) noexcept) noexcept;

// Sets the name of the calling thread, as ps, top and gdb show it. It is cut to the kernel's limit of 15 characters.
void set_thread_name(char const* name) noexcept;

void yield_thread() noexcept;

// Tells the kernel that the calling thread only runs for short times. When it wakes, the kernel lets it interrupt a
// thread that computes, which could otherwise keep the CPU for some milliseconds. It needs Linux 6.12; older kernels
// ignore it.
void ask_for_short_turns() noexcept;

// Sets how late the kernel may end a sleep of the calling thread in order to save power. The usual value, which 0
// restores, is 50 us.
inline constexpr unsigned long usual_timer_slack_ns = 0;
void set_timer_slack_ns(unsigned long ns) noexcept;

struct thread_stack_bounds {
  char* low;
  char* high;
};

// The stack of the calling thread. The low end of the main thread's stack is where it may grow to under the present
// limit. Both are null if libc cannot tell, which happens for the main thread without /proc.
[[nodiscard]] thread_stack_bounds current_thread_stack() noexcept;

// Whether the kernel has a thread of this process with this tid.
[[nodiscard]] bool thread_is_listed(int tid) noexcept;

// The number of entries of /proc/self/task without the kernel's io_uring workers, or -1 if it cannot be read. If there
// are more than `enough`, the count may stop at any number above that.
[[nodiscard]] int count_process_threads(int enough = std::numeric_limits<int>::max()) noexcept;

}  // namespace thrum::rt::os
