// The result of a search for work.
#pragma once

#include "core/g.h"
#include "core/m.h"

namespace thrum::rt {

// A G that belongs to the caller, and whether it inherits the time slice of the goroutine that readied it; or an M that
// wants a P, to which the caller gives its own.
struct search_result {
  G* g = nullptr;
  bool inherits_slice = false;
  M* wants_p = nullptr;

  explicit operator bool() const noexcept { return g != nullptr || wants_p != nullptr; }
};

}  // namespace thrum::rt
