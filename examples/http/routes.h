// Which handler answers which path.
#pragma once

#include "request.h"
#include "response.h"

#include <cstdint>
#include <string_view>

namespace http {

// What the handlers share.
struct site {
  descriptor root;  // directory of /file/; if there is none, nothing is served there
};

// If a handler throws, the answer is a 500, and the connection goes on.
using handler = response (*)(request& asked, site const& of);

struct route {
  enum class methods : std::uint8_t { reading, posting };           // GET and HEAD, or POST
  enum class matches : std::uint8_t { exactly, everything_below };  // how the path is compared
  // may_wait: earlier answers are sent before the handler is called
  enum class duration : std::uint8_t { at_once, may_wait };

  std::string_view path;
  methods takes;
  matches how;
  duration lasts;
  handler answer;

  [[nodiscard]] bool allows(method asked) const noexcept;
  [[nodiscard]] std::string_view allowed() const noexcept;
};

[[nodiscard]] route const* find_route(std::string_view path) noexcept;  // nullptr if there is none

}  // namespace http
