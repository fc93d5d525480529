#include "routes.h"

#include "handlers.h"

#include <array>

namespace http {

namespace {

using enum route::methods;
using enum route::matches;
using enum route::duration;

constexpr std::array routes{
    route{"/plaintext", reading, exactly, at_once, plaintext},
    route{"/echo", posting, exactly, at_once, echo},
    route{"/file/", reading, everything_below, may_wait, serve_file},
    route{"/slow", reading, exactly, may_wait, slow},
    route{"/stats", reading, exactly, at_once, stats},
    route{"/metrics", reading, exactly, at_once, metrics},
    route{"/fail", reading, exactly, at_once, fail},
};

}  // namespace

bool route::allows(method asked) const noexcept {
  return takes == posting ? asked == method::post : asked == method::get || asked == method::head;
}

std::string_view route::allowed() const noexcept { return takes == posting ? "POST" : "GET, HEAD"; }

route const* find_route(std::string_view path) noexcept {
  for (route const& each : routes) {
    if (each.how == exactly ? path == each.path : path.starts_with(each.path)) return &each;
  }
  return nullptr;
}

}  // namespace http
