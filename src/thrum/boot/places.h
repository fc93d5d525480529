// The places of one goroutine in a report: where it stands, and where it was created.
#pragma once

#include "base/atomic.h"
#include "core/g.h"
#include "debug/symbols.h"

#include <cstddef>
#include <cstdint>

namespace thrum::rt {

struct places {
  static constexpr std::size_t frames_max = 64;

  std::uintptr_t frames[frames_max] = {};
  std::size_t count = 0;
  std::uint64_t created_by = 0;
  std::uintptr_t created_at = 0;   // 0: no goroutine created it, or it is not to be shown
  atomic<bool> are_left{false};    // print_places stops before the next place
  atomic<std::size_t> printed{0};  // so many of the frames, and then the place of the creation, have been printed

  void note_creation(G const& g) noexcept;
  // Notes the frames of the caller and of its callers.
  void note_callers() noexcept;
};

// "goroutine 7 [running] name"
void print_head(G const& g) noexcept;

// Writes the places to standard error, with names, files and lines. For with_symbols.
void print_places(symbols& known, void* its_places) noexcept;

// The same on a thread made for it. If there is no thread, or if it waits for too long, prints the addresses only. In
// the latter case returns false, and the places have to live as long as the program. For the ender, in user code.
// Blocks the calling thread.
bool print_places_in_time(places& all) noexcept;

// The same with only what the loader knows, without an allocation. For a signal handler in a program that is about to
// end, whatever locks the thread holds.
void print_places_plainly(places& all) noexcept;

// The same with the addresses only, and how to look them up. Takes no lock.
void print_addresses(places& all) noexcept;

// Prints the places that have not been printed, as addresses, and how to look these up. Stops when standard error would
// wait. Takes no lock and allocates nothing. For a report that is given up, while another thread may still print it.
void print_addresses_left(places& all) noexcept;

}  // namespace thrum::rt
