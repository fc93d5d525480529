// From a program counter to the function, file and line that it belongs to.
//
// There are three sources; each is used where the better one has no answer:
//  1. the debug information and the symbol tables of the program's files (debug/debug_information.h),
//  2. the dynamic symbols that the loader knows,
//  3. the name of the file with an offset in it.
//
// This is slow, allocates, and takes locks of the loader and of malloc. So it must not be used with the world stopped,
// on g0, under a runtime lock or on a signal stack (T01). Collect program counters there (arch/stack_walk.h), and look
// them up when the world runs.
//
// Make one object for all the places of a report: then files are read once, and a place that many goroutines share is
// looked up once. It does not know what dlopen and dlclose do afterwards. It may be used by one thread at a time.
//
// A server that makes many small reports keeps one object, calls forget_if_unloaded before each report and close_files
// after it. The places that are known then cost little memory, and the files are opened again only for other places.
//
// Reading debug information takes much stack (160 KiB have been seen), so it runs on threads only. A goroutine calls
// with_symbols.
#pragma once

#include "debug/debug_information.h"
#include "debug/sleeper_frames.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace thrum::rt {

class symbols {
 public:
  enum class source : bool {
    debug_information,  // files and lines, where available
    loader,             // reads no files: the names of exported functions; a goroutine's stack is enough
  };
  explicit symbols(source best = source::debug_information);

  // Whether files and lines are available at all, that is, whether libdw is there.
  [[nodiscard]] bool reads_files() const { return files().is_there(); }
  // The last lines of a report in which names and lines are missing: why they are, and what to do about it. Otherwise
  // empty.
  [[nodiscard]] char const* note_on_names() const noexcept { return why_not_ != nullptr ? why_not_ : ""; }

  // Gives the memory of the files back until they are needed again. If more places than `places_max` are known, they
  // are forgotten.
  void close_files(std::size_t places_max) noexcept;
  // Forgets the known places if a library has been unloaded since, because another one may have its addresses by now.
  void forget_if_unloaded() noexcept;
  [[nodiscard]] bool has_open_files() const noexcept { return files_.has_value(); }

  // `pc` lies within the instruction in question, as walk_stack gives it: for a return address, subtract 1. The result
  // is never empty. The calls that were inlined there come first, innermost first. The function that was really called
  // is the last.
  std::vector<code_place> const& places_of(std::uintptr_t pc);

  // The same as text, in Go's form: two lines for each place, or one if only an address is known.
  std::string lines_of(std::uintptr_t pc);

  // The frames of a goroutine that sleeps in the kernel. Without files only the place of the call is known.
  [[nodiscard]] sleeper_frames frames_of(sleeper const& asleep) const {
    return rt::frames_of(asleep, files().reader());
  }

 private:
  debug_information const& files() const;

  debug_information::wanted const is_wanted_;
  mutable std::optional<debug_information> files_;  // nothing while they are closed
  mutable char const* why_not_ = nullptr;
  std::unordered_map<std::uintptr_t, std::vector<code_place>> known_;
  unsigned long long unloads_ = 0;  // how many libraries had been unloaded at the last forget_if_unloaded
};

// Calls report(symbols, argument) on a thread made for it, and waits for its end, but not for good. Blocks the calling
// thread, not only the goroutine. It is for a report after which the program ends. May be called inside the runtime.
//
// The thread waits for the loader's lock if another thread holds it, perhaps for ever: the constructor of a library
// that dlopen loads may not return. So this function returns is_left when this report has made no step
// (base/report_limits.h) for `without_step_ns`, whatever other reports do. The thread goes on then, so `argument` has
// to live as long as the program. Deadlock detection does not count that thread, because it wakes no goroutine. It
// returns has_no_reader, without having called `report`, if no thread can be made.
enum class report_end : std::uint8_t { is_reached, is_left, has_no_reader };
using symbol_report = void (*)(symbols& known, void* argument) noexcept;
[[nodiscard]] report_end with_symbols_in_time(std::int64_t without_step_ns, symbol_report report,
                                              void* argument) noexcept;

// The same for a report after which the program goes on. It waits without a limit. If no thread can be made, it calls
// `report` on the calling thread, with what the loader knows. Not to be called inside the runtime.
void with_symbols(symbol_report report, void* argument) noexcept;

// For a report that shows addresses: says how to get names from them. Allocates nothing and takes no lock.
void print_how_to_look_addresses_up() noexcept;

// "function(int)\n\tfile.cpp:12 +0x1c\n"
[[nodiscard]] std::string lines_of(code_place const& place);

}  // namespace thrum::rt
