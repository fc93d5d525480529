// Errors of TLS.
//
//   catch (std::system_error const& e) {
//     if (e.code() == thrum::tls_errc::expired) renew();
//     if (thrum::is_certificate_error(e.code())) {
//       std::puts(e.what());   // "...: certificate verify failed: hostname mismatch"
//     }
//   }
//
// An error of the underlying connection keeps its own category. All other errors have tls_category(): those listed
// here, further reasons for which a certificate is refused, and errors from OpenSSL's error queue, with OpenSSL's text.
#pragma once

#include <thrum/detail/at_least_cxx20.h>

#include <string>
#include <system_error>
#include <type_traits>

namespace thrum {

// From certificate_refused on, a value is certificate_refused plus OpenSSL's X509_V_ERR_* number.
enum class tls_errc {
  // the connection ended without close_notify, so data may be missing because the connection was cut
  unexpected_end = 1,
  no_reason = 2,          // OpenSSL failed without giving a reason
  wrong_role = 3,         // a context for servers was given to a client, or the reverse
  no_host = 4,            // a client must name the host that it expects
  no_identity = 5,        // a server needs a certificate
  bad_protocol_name = 6,  // an ALPN name has 1 to 255 bytes
  bad_host = 7,           // it begins with a dot, or contains a zero byte
  answers_not_taken = 8,  // the peer keeps asking for new keys and reads none of the answers; it may read them later

  certificate_refused = 1000,
  not_yet_valid = 1009,
  expired = 1010,
  self_signed = 1018,
  untrusted_root = 1019,     // the chain ends with a root that is not trusted
  unknown_authority = 1020,  // the issuer of the certificate is not known
  revoked = 1023,
  wrong_host = 1062,
  wrong_address = 1064,
};

[[nodiscard]] std::error_category const& tls_category() noexcept;

[[nodiscard]] inline std::error_code make_error_code(tls_errc e) noexcept {
  return {static_cast<int>(e), tls_category()};
}

// Whether this side refused the peer's certificate.
[[nodiscard]] bool is_certificate_error(std::error_code const& error) noexcept;

}  // namespace thrum

template <>
struct std::is_error_code_enum<thrum::tls_errc> : std::true_type {};
