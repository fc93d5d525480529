// What the parser lets pass and a server must not: looked at when a request's head is complete.
#pragma once

#include "request.h"

namespace http {

// 0: nothing is wrong with it. Whoever is refused loses the connection: where his next request begins is not certain.
[[nodiscard]] int refusal_of(request const& asked) noexcept;

[[nodiscard]] bool expects_continue(request const& asked) noexcept;

}  // namespace http
