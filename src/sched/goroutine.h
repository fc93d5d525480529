// A goroutine from its first instruction to its last (S30).
#pragma once

#include "core/sched.h"

namespace thrum::rt {

// The first function on every goroutine stack. Runs the current goroutine, then whichever unstarted goroutine takes the
// stack over; leaves for good when there is none.
void goroutine_main();

// What boot fills in while run() waits for main: run() returns in this process, which is a child of fork. Does not return.
using child_exit = void (*)() noexcept;
extern constinit child_exit return_from_run_in_child;

// User code of g, with the places where it can end: it returns, or goexit unwinds it to here. An exception passes through
// to the entry frame, which reports it. Runs outside the runtime mark, on g's stack or on its host's.
void run_user_code(G& g);

// Unwinds the current goroutine to run_user_code.
[[noreturn]] void unwind_goroutine(G& g);

// Why std::terminate was called on g, as far as goexit has to do with it.
enum class exit_obstacle : char {
  none,                 // goexit does not unwind g
  noexcept_function,    // the unwinding came to one
  exception_in_flight,  // goexit was called in a destructor while an exception unwound g
  exception_thrown,     // one left a destructor that goexit ran
};
[[nodiscard]] exit_obstacle obstacle_of_exit(G const& g) noexcept;

// After a G's end, or for one that lost the race to a joiner: its locals and name are gone, its record may be reused.
void clear_user_state(G& g) noexcept;

}  // namespace thrum::rt
