// Checks that the parser leaves to the server. They are made when the head of a request is complete.
#pragma once

#include "request.h"

namespace http {

// Returns 0 if the request is valid, otherwise the status code. A refused connection is closed, because it is not
// certain where the next request begins.
[[nodiscard]] int refusal_of(request const& asked) noexcept;

[[nodiscard]] bool expects_continue(request const& asked) noexcept;

}  // namespace http
