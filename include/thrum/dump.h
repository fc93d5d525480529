// Dumps: what each goroutine does or waits for, and where. They show which goroutine is stuck.
//
//   thrum::dump_goroutines(stderr);                                          // as text, in Go's form
//   thrum::dump_goroutines(file, {.format = thrum::dump_format::json});      // for programs: docs/dump.md
//   thrum::dump_goroutines(file, {.stacks = thrum::dump_stacks::grouped});   // equal stacks once, with their number
//   thrum::dump_leaks(stderr);                                               // where goroutines have waited longest
//
// Thread safety: all of these may be called from any goroutine or thread while a runtime is alive; otherwise they throw
// std::logic_error.
//
// Cost: each call stops the world: for some hundred microseconds, and with many goroutines for some microseconds per
// goroutine. So call them about once a second, not for every request. docs/dump.md has figures.
#pragma once

#include <thrum/detail/at_least_cxx20.h>

#include <cstdint>
#include <cstdio>

namespace thrum {

enum class dump_format : std::uint8_t { text, json };

enum class dump_stacks : std::uint8_t {
  automatic,  // `each` for up to 10,000 goroutines, otherwise `grouped`
  each,       // every goroutine by itself
  grouped,    // goroutines in the same state, with equal stacks and made at the same place, once and with their number
};

struct dump_options {
  dump_format format = dump_format::text;
  dump_stacks stacks = dump_stacks::automatic;
};

// Writes a list of all goroutines to `out`: the id and name of each, what it does or waits for and for how long, its
// stack trace, and the place that started it. The function stops the world for a moment; the goroutines go on while the
// list is being written. At most 100,000 goroutines are listed and the others are counted; a stack trace has at most 48
// frames. A thread of thrum's own writes to `out`, so the caller must not hold the file's lock (flockfile).
//  - The waiting time is exact for goroutines that wait for a mutex. Other goroutines are examined every ten seconds
//    (or every options::scavenge_after), and the time is counted from the first examination that saw them waiting. In
//    the text, a time of less than a second is left out, and so is that of threads that thrum did not make.
//  - A goroutine that sleeps in a system call, announced or not, is listed with the call. Its stack trace needs libdw
//    of elfutils. A caller that is only guessed is marked "perhaps called, directly or not, from".
//  - A goroutine that computes inside blocking() is listed with the place where blocking() was called.
//
// SIGQUIT writes the same list to standard error and ends the program with exit code 2, unless the program has its own
// action for that signal. THRUM_DEBUG=dump=json, =grouped, =each or =leaks chooses its form, and that of the lists that
// a panic and a deadlock write; dump=json+grouped combines two of them.
void dump_goroutines(std::FILE* out, dump_options how = {});

// Writes the places of the program where goroutines wait: how many wait there and for what, how long the longest and
// the median of them have waited, and the place that created them. A place is the innermost function outside thrum. The
// places whose goroutines have waited longest, taken together, come first; at most 100 are listed. A goroutine that
// leaks waits for ever, so two lists that were written some minutes apart show leaks: the number or the times grow.
void dump_leaks(std::FILE* out, dump_format format = dump_format::text);

}  // namespace thrum
