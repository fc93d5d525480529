// The head of an HTTP/1.1 request: what the server needs of it, and nothing else (RFC 9112).
//
// The reader is strict, because what is lenient here is read differently elsewhere: lines end with CR LF, a field has
// no blank before its colon and no continuation line, and no field that matters stands there twice. A request has no
// body. The texts are views of the bytes that were read.
//
// Alternative: the parser of a library. thrum depends on none, and what a browser, curl and Prometheus send is little.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace thrum::live {

inline constexpr std::size_t head_bytes_max = std::size_t{8} * 1024;
inline constexpr std::size_t head_fields_max = 64;

enum class http_method : std::uint8_t { get, head, post, other };

struct http_request {
  http_method method = http_method::other;
  std::string_view path = {};   // begins with a slash, as it was sent
  std::string_view query = {};  // what follows the question mark
  // fields; empty: the request does not have it
  std::string_view host = {};
  std::string_view origin = {};
  std::string_view authorization = {};
  std::string_view fetch_site = {};  // Sec-Fetch-Site
  bool stays_open = true;            // the connection may serve another request
};

struct http_head {
  enum class outcome : std::uint8_t { incomplete, complete, bad };
  outcome is = outcome::incomplete;
  std::size_t bytes = 0;      // of a complete head
  int status = 0;             // of a bad one: what to answer
  char const* why = nullptr;  // likewise, a literal
  http_request request;
};

// `received` begins with a request. It may hold more than one. Never allocates.
[[nodiscard]] http_head read_head(std::string_view received) noexcept;

// The value of a parameter of the query, decoded: "a=1&b=x%20y". Returns nothing if the query does not have it, and an
// empty text if it has no value or cannot be decoded.
[[nodiscard]] std::optional<std::string> parameter(std::string_view query, std::string_view name);

// Whether the texts are equal, whatever the case of their ASCII letters is.
[[nodiscard]] bool equal_without_case(std::string_view a, std::string_view b) noexcept;

}  // namespace thrum::live
