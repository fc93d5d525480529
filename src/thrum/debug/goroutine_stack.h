// The stack of a goroutine in a dump, with what is certain and what is guessed, and which places of it are shown. All
// forms of the dump use it.
#pragma once

#include "debug/goroutine_list.h"
#include "debug/program_places.h"
#include "debug/symbols.h"

#include <cstdint>
#include <vector>

namespace thrum::rt {

struct goroutine_stack {
  std::vector<std::uintptr_t> known;    // program counters, innermost first
  std::vector<std::uintptr_t> guessed;  // probably their callers, because it sleeps in a system call
  bool is_cut = false;                  // there are more frames, which are not known
  std::uintptr_t announced_at = 0;      // where that call was announced, if the frames do not show it; 0: not known
};

// Walks the copy of the stack if the goroutine sleeps in a system call.
[[nodiscard]] goroutine_stack stack_of(goroutine_entry const& e, symbols& known);

// Calls visit(place) for the places of pc that a dump shows, innermost first.
template <class F>
void for_each_shown(symbols& known, std::uintptr_t pc, F visit) {
  for (code_place const& place : known.places_of(pc)) {
    if (!is_plumbing(place)) visit(place);
  }
}

// The innermost place that is neither in the runtime nor in thrum's public functions. If there is none, the innermost
// place. nullptr: the stack is empty. The place lives as long as `known`.
struct place_in_program {
  code_place const* place = nullptr;
  std::uintptr_t pc = 0;
};
[[nodiscard]] place_in_program find_place_in_program(symbols& known, goroutine_stack const& stack);

}  // namespace thrum::rt
