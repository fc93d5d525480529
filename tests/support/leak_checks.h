// Leaks, which AddressSanitizer looks for when a program ends.
#pragma once

namespace thrum::test {

// Turns the search off for the rest of this process. It is for children that call exit() on a goroutine: what the
// frames of the first thread own is found only if its stack is searched. It is no environment variable, because a child
// of fork does not read that again.
void do_not_look_for_leaks() noexcept;

}  // namespace thrum::test
