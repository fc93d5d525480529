// Threads of the operating system: what an M runs on.
//
// Creating, joining and asking for stack bounds go through libc, which allocates and takes its own locks:
// never with the in-runtime mark set, under a runtime lock, on sysmon or in a signal handler (T01).
// current_tid, yield_thread, set_thread_name and count_process_threads allocate nothing and may be called
// anywhere.
#pragma once

#include <pthread.h>

namespace thrum::rt::os {

struct thread {
  pthread_t handle;
};

// Starts a thread with libc's default stack (S29: 8 MB unless `ulimit -s` says otherwise). 0 or the errno;
// EAGAIN is the one that a user can do something about (S22).
//
// All signals are blocked around the creation (S22), and the new thread starts with the mask that the caller
// had: a handler must not run on a thread that is half made, and must be able to run on one that is.
//
// No handler of the program's is to run on a thread that serves the runtime. What the handler interrupts may hold a lock of the runtime's,
// and what the handler waits for may be held by a goroutine whose turn depends on this thread; a profiler's handlers wait for each other.
// So such a thread takes only the faults that it causes itself, and all other signals come to other threads.
enum class takes_signals : bool { as_its_creator, only_its_own };
[[nodiscard]] int create_thread(thread& out, void* (*entry)(void*), void* argument,
                                takes_signals which = takes_signals::as_its_creator) noexcept;

// With its tid also until the kernel does not list it any more, which is a little later than it says that it has ended: whoever counts
// threads looks there. The tid may be written by the thread itself.
void join_thread(thread& joined, int const& tid = 0) noexcept;
// The same if it has ended by now, else false: destructors of its thread-locals may keep it for as long as they like.
[[nodiscard]] bool join_thread_if_ended(thread& joined, int const& tid) noexcept;
void detach_thread(thread& detached) noexcept;

[[nodiscard]] int current_tid() noexcept;

[[nodiscard]] int process_id() noexcept;  // another one in a child of fork

// When the calling thread ends, after the destructors of its thread-locals, f(the thread's own) is called. One f in a process.
// False: the system has no room for that.
[[nodiscard]] bool call_at_thread_end(void (*f)(void*) noexcept) noexcept;

// The name of the calling thread, as ps, top and gdb show it; cut to the kernel's 15 characters.
void set_thread_name(char const* name) noexcept;

void yield_thread() noexcept;

// The calling thread runs for a moment at a time: when it wakes, the kernel is to let it interrupt one that computes, whose
// turn may otherwise last some milliseconds more. Linux 6.12; older ones take no notice.
void ask_for_short_turns() noexcept;

// How late the kernel may end a sleep of the calling thread in order to save power; usually 50 us.
inline constexpr unsigned long usual_timer_slack_ns = 0;
void set_timer_slack_ns(unsigned long ns) noexcept;

struct stack_bounds {
  char* low;
  char* high;
};

// The stack of the calling pthread, also of the main thread (whose low end is where it may grow to, by the
// limit in force now). Both null when libc cannot tell: main thread without /proc.
[[nodiscard]] stack_bounds current_thread_stack() noexcept;

// Whether it is still an entry of /proc/self/task.
[[nodiscard]] bool thread_is_listed(int tid) noexcept;

// Entries of /proc/self/task, but for threads of the kernel's own; -1 when it cannot be read.
[[nodiscard]] int count_process_threads() noexcept;

}  // namespace thrum::rt::os
