#include "debug/goroutine_stack.h"

#include <string_view>
#include <utility>

namespace thrum::rt {
namespace {

bool shows_any(symbols& known, std::vector<std::uintptr_t> const& pcs) {
  bool any = false;
  for (std::uintptr_t const pc : pcs) for_each_shown(known, pc, [&](code_place const&) { any = true; });
  return any;
}

void walk_copy(sleeper const& asleep, symbols& known, goroutine_stack& out) {
  sleeper_frames found = known.frames_of(asleep);
  out.known = std::move(found.known);
  if (found.is_whole) {
    out.announced_at = 0;
    return;
  }
  out.guessed = std::move(found.guessed);
  bool shows_guesses = shows_any(known, out.guessed);
  if (!shows_guesses && out.known.size() == 1) {
    out.guessed = guess_caller_in_program(asleep);
    shows_guesses = shows_any(known, out.guessed);
  }
  if (!shows_guesses) out.guessed.clear();
  out.is_cut = !shows_guesses;
}

// Whether the place is in a public function of thrum, which may be a template or inlined.
bool is_of_thrum(code_place const& place) noexcept {
  std::string_view const file = place.file;
  if (file.find("/src/posix/") != std::string_view::npos) return true;
  if (!std::string_view(place.function).starts_with("thrum::")) return false;
  return place.line == 0 || file.find("include/thrum/") != std::string_view::npos ||
         file.find("src/thrum/") != std::string_view::npos;
}

}  // namespace

goroutine_stack stack_of(goroutine_entry const& e, symbols& known) {
  goroutine_stack result;
  result.announced_at = e.announced_at;
  if (e.asleep.is_known()) {
    walk_copy(e.asleep, known, result);
  } else {
    result.known.assign(e.pcs, e.pcs + e.frames);
    result.is_cut = e.is_cut();
  }
  return result;
}

place_in_program find_place_in_program(symbols& known, goroutine_stack const& stack) {
  place_in_program of_thrum;
  for (auto const* const pcs : {&stack.known, &stack.guessed}) {
    for (std::uintptr_t const pc : *pcs) {
      place_in_program found;
      for_each_shown(known, pc, [&](code_place const& place) {
        if (found.place == nullptr && !is_of_thrum(place)) found = {&place, pc};
        if (of_thrum.place == nullptr) of_thrum = {&place, pc};
      });
      if (found.place != nullptr) return found;
    }
  }
  if (of_thrum.place == nullptr && !stack.known.empty()) {
    std::uintptr_t const pc = stack.known.front();
    return {&known.places_of(pc).front(), pc};
  }
  return of_thrum;
}

}  // namespace thrum::rt
