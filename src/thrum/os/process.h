// Child processes. The functions that return an int return 0 or more, or -errno, and leave errno unchanged (T08).
//
// A program is started by posix_spawn. The child runs in the parent's memory, on its own stack, until it executes the
// program. The calling thread sleeps meanwhile, and the other threads continue. Nothing is copied, so a large parent
// costs no more time than a small one. The C library blocks all signals meanwhile, and sets signals with handlers to
// their default action in the child. So no handler of the parent runs in the child.
#pragma once

#include <cstdint>

#include <pthread.h>

namespace thrum::rt::os {

// What a standard stream of the child is: a descriptor of the parent, 3 or more, or one of these.
namespace child_stream_is {
inline constexpr int inherited = -1;
inline constexpr int null_device = -2;
inline constexpr int as_output = -3;  // the same as the child's standard output
}  // namespace child_stream_is

struct spawn_request {
  char* const* arguments;    // the first is the program, searched in PATH unless it has a slash; ends with nullptr
  char* const* environment;  // ends with nullptr
  char const* directory;     // nullptr: that of the parent
  int streams[3];
  bool closes_others;  // close all descriptors but these three in the child, also those without close-on-exec
};

// Starts a program and returns the child's process id. If the program cannot be started, returns the error, also if it
// occurred in the child, for example -ENOENT or -EACCES. In the child no signal is blocked, SIGPIPE has its default
// action, and other signals that the parent ignores are ignored. May block the thread for long.
[[nodiscard]] int spawn(spawn_request const& wanted) noexcept;

// Opens a descriptor that identifies the child for ever and becomes readable when the child has ended. -ENOSYS before
// Linux 5.4. -ECHILD if other code has collected the child's end, because the process id may then belong to another
// process.
[[nodiscard]] int open_pidfd(int pid) noexcept;

struct child_name {
  int pid;    // the kernel does not reuse it before the child's end was collected
  int pidfd;  // -1: there is none
};

struct child_end {
  int code;
  int signal;  // the signal that ended it; 0: it exited with `code`
  bool dumped_core;
};

enum class child_look : bool { collect, leave };

// Returns 1 and fills `out` if the child has ended. Returns 0 if it runs, or if a process that traces it has not
// released its end. With child_look::leave the end can be collected later.
[[nodiscard]] int look_at_child(child_name child, child_look how, child_end& out) noexcept;
// Sleeps until the child's end can be collected, and does not collect it.
[[nodiscard]] int wait_for_child(int pid) noexcept;
[[nodiscard]] int signal_child(child_name child, int signal) noexcept;

// Opens a pipe. Both ends are close-on-exec and blocking.
[[nodiscard]] int open_blocking_pipe(int (&ends)[2]) noexcept;
// Returns another descriptor for the same file. Its number is 3 or more, and it is close-on-exec.
[[nodiscard]] int duplicate(int fd) noexcept;

[[nodiscard]] char* const* whole_environment() noexcept;

// Has f called in every child of fork, on its only thread, before fork returns there. It is not called after vfork and
// posix_spawn. Returns false if there is no memory.
[[nodiscard]] bool call_in_children_of_fork(void (*f)() noexcept) noexcept;

// The stack of a thread, seen from a child of fork. The child has only the thread that called fork. There the C library
// takes the stacks of the threads that it has created, except for this one, for free ones and gives them to new
// threads. The stack that the kernel has made for the process stays.
struct stack_beyond_fork {
  [[nodiscard]] static stack_beyond_fork of_this_thread() noexcept;
  // Called in the child.
  [[nodiscard]] bool is_kept_in_child() const noexcept;

  pthread_t thread{};
  bool is_made_by_kernel = false;
};

}  // namespace thrum::rt::os
