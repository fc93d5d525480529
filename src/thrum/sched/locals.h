// Goroutine-local values behind thrum::local<T>.
#pragma once

#include "core/g.h"

namespace thrum::rt {

// Destroys the values of a goroutine that ends, newest first. It runs user code, so it is called outside the runtime
// mark.
void destroy_locals(G& g) noexcept;

}  // namespace thrum::rt
