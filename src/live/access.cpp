#include "live/access.h"

#include "net/address.h"
#include <thrum/endpoint.h>

#include <algorithm>
#include <cstddef>
#include <optional>

namespace thrum::live {
namespace {

// "[::1]:6070" is ::1, and "localhost:6070" is localhost.
std::string_view without_port(std::string_view host) noexcept {
  if (host.starts_with('[')) {
    std::size_t const end = host.find(']');
    return end == std::string_view::npos ? std::string_view{} : host.substr(1, end - 1);
  }
  return host.substr(0, host.find(':'));
}

bool is_known(std::string_view host, access_rules const& rules) noexcept {
  std::string_view const name = without_port(host);
  endpoint unused;
  if (equal_without_case(name, "localhost") || rt::parse_host(name, 0, unused)) return true;
  return std::any_of(rules.hosts.begin(), rules.hosts.end(),
                     [&](std::string const& allowed) { return equal_without_case(name, allowed); });
}

// "http://127.0.0.1:6070" is that of the host 127.0.0.1:6070. A proxy may speak https.
bool is_of_host(std::string_view origin, std::string_view host) noexcept {
  for (std::string_view const scheme : {std::string_view("http://"), std::string_view("https://")}) {
    if (origin.starts_with(scheme) && equal_without_case(origin.substr(scheme.size()), host)) return true;
  }
  return false;
}

// Takes the same time wherever the texts differ.
bool is_token(std::string_view given, std::string_view token) noexcept {
  unsigned different = given.size() == token.size() ? 0 : 1;
  for (std::size_t i = 0; i < token.size(); ++i) {
    char const other = i < given.size() ? given[i] : '\0';
    different |= static_cast<unsigned char>(token[i] ^ other);
  }
  return different == 0;
}

bool has_token(http_request const& asked, std::string_view token) {
  constexpr std::string_view scheme = "Bearer ";
  if (asked.authorization.starts_with(scheme)) return is_token(asked.authorization.substr(scheme.size()), token);
  std::optional<std::string> const given = parameter(asked.query, "token");
  return given && is_token(*given, token);
}

}  // namespace

refusal refuse(http_request const& asked, access_rules const& rules) {
  if (!is_known(asked.host, rules))
    return {403, "the host in the request is no address, and serve_options::hosts does not have it"};
  if (!asked.origin.empty() && !is_of_host(asked.origin, asked.host))
    return {403, "the request comes from another site"};
  bool const is_from_elsewhere = asked.fetch_site == "cross-site" || asked.fetch_site == "same-site";
  if (is_from_elsewhere && asked.path != "/") return {403, "the request comes from another site"};
  if (!rules.token.empty() && !has_token(asked, rules.token)) return {401, "a token is needed"};
  return {};
}

}  // namespace thrum::live
