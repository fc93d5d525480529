// A goroutine from its first instruction to its last (S30).
#pragma once

#include "core/sched.h"

namespace thrum::rt {

// A function that boot fills in while run() waits for main. It makes run() return in this process, which is a child of
// fork. It does not return itself.
using child_exit = void (*)() noexcept;
extern constinit child_exit return_from_run_in_child;

// Runs the user code of g. It can end by returning, or goexit unwinds it to here. An exception passes through to the
// entry frame, which reports it. Runs outside the runtime mark, on g's stack or on its host's.
void run_user_code(G& g);

// Unwinds the current goroutine to run_user_code.
[[noreturn]] void unwind_goroutine(G& g);

// Why std::terminate was called on g, as far as goexit is concerned.
enum class exit_obstacle : char {
  none,                 // goexit does not unwind g
  noexcept_function,    // the unwinding came to a noexcept function
  exception_in_flight,  // goexit was called in a destructor while an exception unwound g
  exception_thrown,     // an exception left a destructor that goexit ran
};
[[nodiscard]] exit_obstacle obstacle_of_exit(G const& g) noexcept;

// Called after the end of a G, or for a G whose joiner won the claim: destroys its locals and its name, so that the
// record can be reused.
void clear_user_state(G& g) noexcept;

}  // namespace thrum::rt
