// Child processes. All answer 0 or more, or -errno; errno itself stays as it was (T08).
//
// A program is started by posix_spawn: the child runs in our memory, on a stack of its own, until it has become the program; our
// thread sleeps meanwhile, and the others go on. Nothing is copied, however large we are. The C library blocks all signals around
// it and gives those with handlers back their default action in the child, so that no handler of ours ever runs there.
#pragma once

#include <cstdint>

namespace thrum::rt::os {

// What a standard stream of the child is: one of our descriptors, 3 or more, or one of these.
namespace child_stream_is {
inline constexpr int inherited = -1;
inline constexpr int null_device = -2;
inline constexpr int as_output = -3;  // the standard error is the standard output
}  // namespace child_stream_is

struct spawn_request {
  char* const* arguments;    // the first is the program: searched in PATH unless it has a slash
  char* const* environment;  // both end with nullptr
  char const* directory;     // nullptr: ours
  int streams[3];
  bool closes_others;  // what is open beside the three, also without close-on-exec
};

// The child's number. What kept the program from being started is the error, also if that was seen in the child: ENOENT, EACCES.
// No signal is blocked in it, SIGPIPE has its default action; what we ignore otherwise it ignores. May keep the thread for long.
[[nodiscard]] int spawn(spawn_request const& wanted) noexcept;

// A descriptor that names the child for good, and is readable when it has ended. ENOSYS before Linux 5.4; ECHILD if somebody else
// has collected its end already: then the number may be a stranger's.
[[nodiscard]] int open_pidfd(int pid) noexcept;

struct child_name {
  int pid;    // not used again before the child's end was collected
  int pidfd;  // -1: none
};

struct child_end {
  int code;
  int signal;  // 0: it ended by itself, with the code
  bool dumped_core;
};

enum class child_look : bool { collect, leave };

// 1: it has ended, like this. 0: it runs, or another process that traces it has not let its end go yet.
[[nodiscard]] int look_at_child(child_name child, child_look how, child_end& out) noexcept;
// Sleeps until its end can be collected, and leaves it to be.
[[nodiscard]] int wait_for_child(int pid) noexcept;
[[nodiscard]] int signal_child(child_name child, int signal) noexcept;

// Both ends are close-on-exec and block.
[[nodiscard]] int open_blocking_pipe(int (&ends)[2]) noexcept;
// Another number for the same, 3 or more, close-on-exec.
[[nodiscard]] int duplicate(int fd) noexcept;

[[nodiscard]] char* const* whole_environment() noexcept;

// f is called in every child of fork, on its only thread, before fork returns there; not after vfork and posix_spawn. False: no memory.
[[nodiscard]] bool call_in_children_of_fork(void (*f)() noexcept) noexcept;

}  // namespace thrum::rt::os
