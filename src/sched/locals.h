// Goroutine-local values behind thrum::local<T>.
#pragma once

#include "core/g.h"

namespace thrum::rt {

// Destroys the values of a goroutine that ends, newest first. User code runs: outside the runtime mark.
void destroy_locals(G& g) noexcept;

}  // namespace thrum::rt
