// A request as its handler sees it. The views are valid until the handler returns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace http {

enum class method : std::uint8_t { get, head, post, other, unknown };

struct header {
  std::string_view name;
  std::string_view value;
};

struct request {
  http::method method = method::unknown;
  int major_version = 1;
  int minor_version = 1;
  bool keep_alive = false;
  bool has_body = false;  // the request announced a body, which may be empty
  std::uint64_t content_length = 0;
  std::string_view target;  // as received
  std::string_view path;    // not percent-decoded
  std::string_view query;   // after the '?'
  std::span<header const> headers;
  std::string body;  // the handler may move it away

  // of the first such header; empty if there is none
  [[nodiscard]] std::string_view header_value(std::string_view name) const noexcept;
};

// Compares names as HTTP does, ignoring the case of ASCII letters.
[[nodiscard]] inline bool same_name(std::string_view a, std::string_view b) noexcept {
  auto const lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; };
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (lower(a[i]) != lower(b[i])) return false;
  }
  return true;
}

inline std::string_view request::header_value(std::string_view name) const noexcept {
  for (header const& each : headers) {
    if (same_name(each.name, name)) return each.value;
  }
  return {};
}

}  // namespace http
