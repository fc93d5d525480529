// Leaks, which AddressSanitizer looks for when a program ends.
#pragma once

namespace thrum::test {

// Turns the search off for the rest of this process. It is for children that call exit() on a goroutine: what the
// frames of the first thread own is found only if its stack is searched. A child of fork cannot be told by an
// environment variable (with_environment.h).
void do_not_look_for_leaks() noexcept;

}  // namespace thrum::test
