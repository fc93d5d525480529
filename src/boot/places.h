// The places of one goroutine in a report: where it stands, and where it was made.
#pragma once

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
  std::uintptr_t created_at = 0;  // 0: by no goroutine, or not to be shown

  void note_creation(G const& g) noexcept;
  // The frames of the caller and of its callers.
  void note_callers() noexcept;
};

// "goroutine 7 [running] name"
void print_head(G const& g) noexcept;

// To standard error, with names, files and lines. For with_symbols.
void print_places(symbols& known, void* its_places) noexcept;

// The same by what the loader knows, without an allocation: for a signal handler whose program ends, whatever locks it holds.
void print_places_plainly(places const& all) noexcept;

}  // namespace thrum::rt
