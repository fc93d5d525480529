// Goroutines of a dump that are alike: those with equal stacks, and those that wait at one place.
#pragma once

#include "debug/goroutine_list.h"
#include "debug/goroutine_stack.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace thrum::rt {

// How long some goroutines have waited, of those for which this is known.
struct waiting_times {
  std::size_t known = 0;
  std::int64_t shortest_ns = 0;
  std::int64_t median_ns = 0;
  std::int64_t longest_ns = 0;
  std::int64_t total_ns = 0;
};

using goroutine_entries = std::vector<goroutine_entry const*>;

[[nodiscard]] waiting_times times_of(goroutine_entries const& some);

// Goroutines that are in the same state, stand at the same place with the same callers, and were made at the same
// place. There is at least one.
struct stack_group {
  goroutine_stack stack;
  goroutine_entries members;

  [[nodiscard]] goroutine_entry const& first() const noexcept { return *members.front(); }
};

// The largest group comes first.
[[nodiscard]] std::vector<stack_group> groups_of(goroutine_list const& all, symbols& known);

// Goroutines that wait for the same kind of thing at one place of the program, and were made at one place.
struct waiting_place {
  place_in_program waits_at;
  goroutine_entries members;
  waiting_times times;

  [[nodiscard]] goroutine_entry const& first() const noexcept { return *members.front(); }
};

// The place whose goroutines have waited longest comes first: the sum of their times counts, and then their number.
[[nodiscard]] std::vector<waiting_place> places_of_waiting(goroutine_list const& all, symbols& known);
// Those of them that a dump shows.
[[nodiscard]] inline std::span<waiting_place const> shown_of(std::vector<waiting_place> const& all) noexcept {
  constexpr std::size_t shown_max = 100;
  return std::span(all).first(std::min(all.size(), shown_max));
}

}  // namespace thrum::rt
