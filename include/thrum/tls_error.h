// What can go wrong in TLS.
//
//   catch (std::system_error const& e) {
//     if (e.code() == thrum::tls_errc::expired) renew();
//     if (thrum::is_certificate_error(e.code())) std::puts(e.what());   // "...: certificate verify failed: hostname mismatch"
//   }
//
// An error of the connection below keeps its own category. All others have tls_category(): those listed here, further reasons for
// which a certificate is refused, and what OpenSSL puts into its error queue, in its words.
#pragma once

#include <thrum/detail/at_least_cxx20.h>

#include <string>
#include <system_error>
#include <type_traits>

namespace thrum {

// From certificate_refused on: OpenSSL's X509_V_ERR_* plus that.
enum class tls_errc {
  unexpected_end = 1,     // the connection ended without close_notify: perhaps somebody cut it, and the rest is missing
  no_reason = 2,          // OpenSSL failed and did not say why
  wrong_role = 3,         // a context for servers given to a client, or the reverse
  no_host = 4,            // a client must say whom it expects
  no_identity = 5,        // a server needs a certificate
  bad_protocol_name = 6,  // of ALPN: 1 to 255 bytes
  bad_host = 7,           // begins with a dot, or has a zero byte in it
  answers_not_taken = 8,  // the peer asks for new keys again and again, and takes no answer. It may do so later

  certificate_refused = 1000,
  not_yet_valid = 1009,
  expired = 1010,
  self_signed = 1018,
  untrusted_root = 1019,     // the chain ends with a root that is not among ours
  unknown_authority = 1020,  // whoever signed is not known
  revoked = 1023,
  wrong_host = 1062,
  wrong_address = 1064,
};

[[nodiscard]] std::error_category const& tls_category() noexcept;

[[nodiscard]] inline std::error_code make_error_code(tls_errc e) noexcept {
  return {static_cast<int>(e), tls_category()};
}

// Whether the peer's certificate was refused here.
[[nodiscard]] bool is_certificate_error(std::error_code const& error) noexcept;

}  // namespace thrum

template <>
struct std::is_error_code_enum<thrum::tls_errc> : std::true_type {};
