#include "request_check.h"

#include "settings.h"

namespace http {

namespace {

struct seen_headers {
  int hosts = 0;
  int encodings = 0;
  bool encoding_is_chunked = false;
  std::string_view expectation;
};

seen_headers look_at(std::span<header const> headers) noexcept {
  seen_headers seen;
  for (auto const& [name, value] : headers) {
    if (same_name(name, "host")) {
      ++seen.hosts;
    } else if (same_name(name, "transfer-encoding")) {
      ++seen.encodings;
      seen.encoding_is_chunked = same_name(value, "chunked");
    } else if (same_name(name, "expect")) {
      seen.expectation = value;
    }
  }
  return seen;
}

constexpr std::string_view continue_name = "100-continue";

}  // namespace

int refusal_of(request const& asked) noexcept {
  if (asked.major_version != 1 || asked.minor_version > 1) return 505;
  bool const is_1_0 = asked.minor_version == 0;
  seen_headers const seen = look_at(asked.headers);
  if (seen.hosts > 1 || (seen.hosts == 0 && !is_1_0)) return 400;
  // HTTP/1.0 has no transfer encodings, so a proxy that forwarded this may have seen a different body.
  if (seen.encodings > 0 && is_1_0) return 400;
  if (seen.encodings > 1 || (seen.encodings == 1 && !seen.encoding_is_chunked)) return 501;
  if (asked.method == method::unknown) return 501;
  if (!asked.path.starts_with('/')) return 400;
  if (asked.method == method::post && !asked.has_body) return 411;
  if (asked.content_length > body_bytes_max) return 413;
  if (!seen.expectation.empty() && !is_1_0 && !same_name(seen.expectation, continue_name)) return 417;
  return 0;
}

bool expects_continue(request const& asked) noexcept {
  return asked.minor_version > 0 && same_name(asked.header_value("expect"), continue_name);
}

}  // namespace http
