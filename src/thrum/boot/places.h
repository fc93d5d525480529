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
  std::uintptr_t created_at = 0;  // 0: no goroutine created it, or it is not to be shown
  atomic<bool> are_left{false};   // print_places stops before the next place

  void note_creation(G const& g) noexcept;
  // Notes the frames of the caller and of its callers.
  void note_callers() noexcept;
};

// "goroutine 7 [running] name"
void print_head(G const& g) noexcept;

// Writes the places to standard error, with names, files and lines. For with_symbols.
void print_places(symbols& known, void* its_places) noexcept;

// The same on a thread made for it. If that thread waits for too long, prints the addresses only and returns false. Then
// the places have to live as long as the program. If no thread can be made, prints what the loader knows. For the ender,
// in user code. Blocks the calling thread.
bool print_places_in_time(places& all) noexcept;

// The same with only what the loader knows, without an allocation. For a signal handler in a program that is about to
// end, whatever locks the thread holds.
void print_places_plainly(places const& all) noexcept;

}  // namespace thrum::rt
