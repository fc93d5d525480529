// From a program counter to the function, file and line that it belongs to.
//
// Three sources, each taken where the better one is silent: the debug information and the symbol tables of the program's files
// (debug/debug_information.h), the dynamic symbols that the loader knows, and the name of the file with an offset in it. This
// is slow and allocates, and the loader's and malloc's locks are taken: never with the world stopped, on g0, under a
// runtime lock or on a signal stack (T01). Collect program counters there (arch/stack_walk.h) and ask when the world runs
// again.
//
// Make one object for all the places of a report: files are read once, and a place that many goroutines share is looked up
// once. What is loaded by dlopen afterwards it does not know. One thread at a time.
//
// Reading debug information takes much stack, 160 KiB have been seen: it is for threads; a goroutine calls with_symbols.
#pragma once

#include "debug/debug_information.h"
#include "debug/sleeper_frames.h"

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace thrum::rt {

class symbols {
 public:
  enum class source : bool {
    debug_information,  // files and lines, if they are to be had
    loader,             // no files are read: the names of exported functions; a goroutine's stack is enough
  };
  explicit symbols(source best = source::debug_information);

  // Whether there are files and lines to be had at all: libdw is there.
  [[nodiscard]] bool reads_files() const noexcept { return files_.is_there(); }
  // The last lines of a report whose names and lines are missing: why, and what to do about it. Otherwise empty.
  [[nodiscard]] char const* note_on_names() const noexcept {
    char const* const why_not = files_.why_not();
    return why_not != nullptr ? why_not : "";
  }

  // `pc` lies within the instruction in question, as walk_stack gives it: for a return address, subtract 1. Never empty.
  // The calls that were inlined there come first, innermost first; the function that was really called is the last.
  std::vector<code_place> const& places_of(std::uintptr_t pc);

  // The same as text, in Go's form: two lines for each place, or one where nothing but an address is known.
  std::string lines_of(std::uintptr_t pc);

  // Where a goroutine stands that sleeps in the kernel: without files, only where it made the call.
  [[nodiscard]] sleeper_frames frames_of(sleeper const& asleep) const { return rt::frames_of(asleep, files_.reader()); }

 private:
  debug_information files_;
  std::unordered_map<std::uintptr_t, std::vector<code_place>> known_;
};

// Calls report(symbols, argument) on a thread made for it, and waits for its end. When there is no thread to be had, calls it
// on the caller's, with what the loader knows. Blocks the calling thread, not only the goroutine.
void with_symbols(void (*report)(symbols& known, void* argument) noexcept, void* argument) noexcept;

// "function(int)\n\tfile.cpp:12 +0x1c\n"
[[nodiscard]] std::string lines_of(code_place const& place);

}  // namespace thrum::rt
