#include "tls/errors.h"

#include <thrum/tls_error.h>

#include <string>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

namespace thrum {
namespace {

constexpr int refused = static_cast<int>(tls_errc::certificate_refused);
constexpr int openssl_codes_from = 1 << ERR_LIB_OFFSET;  // OpenSSL's codes carry a library number, so none is smaller

constexpr bool is_reason(tls_errc e, int reason) { return static_cast<int>(e) == refused + reason; }
static_assert(is_reason(tls_errc::not_yet_valid, X509_V_ERR_CERT_NOT_YET_VALID));
static_assert(is_reason(tls_errc::expired, X509_V_ERR_CERT_HAS_EXPIRED));
static_assert(is_reason(tls_errc::self_signed, X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT));
static_assert(is_reason(tls_errc::untrusted_root, X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN));
static_assert(is_reason(tls_errc::unknown_authority, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY));
static_assert(is_reason(tls_errc::revoked, X509_V_ERR_CERT_REVOKED));
static_assert(is_reason(tls_errc::wrong_host, X509_V_ERR_HOSTNAME_MISMATCH));
static_assert(is_reason(tls_errc::wrong_address, X509_V_ERR_IP_ADDRESS_MISMATCH));

std::string openssl_words(int value) {
  auto const code = static_cast<unsigned long>(static_cast<unsigned>(value));
  char const* const library = ERR_lib_error_string(code);
  char const* const reason = ERR_reason_error_string(code);
  std::string words = library == nullptr ? "OpenSSL" : library;
  return words + ": " + (reason == nullptr ? "error " + std::to_string(ERR_GET_REASON(code)) : std::string(reason));
}

class category final : public std::error_category {
 public:
  [[nodiscard]] char const* name() const noexcept override { return "thrum.tls"; }
  [[nodiscard]] std::string message(int value) const override {
    switch (static_cast<tls_errc>(value)) {
      case tls_errc::unexpected_end: return "the connection ended without close_notify";
      case tls_errc::no_reason: return "OpenSSL failed without giving a reason";
      case tls_errc::wrong_role: return "the tls_context is for the other role (client or server)";
      case tls_errc::no_host: return "no host name was given with which the server could be verified";
      case tls_errc::no_identity: return "a server needs a certificate (tls_server_options::identity)";
      case tls_errc::bad_protocol_name: return "the name of a protocol must have 1 to 255 bytes";
      case tls_errc::bad_host: return "this is not a valid host name";
      case tls_errc::answers_not_taken: return "the peer requests key updates and does not read the answers";
      default: break;
    }
    if (value >= openssl_codes_from) return openssl_words(value);
    return std::string("certificate verify failed: ") + X509_verify_cert_error_string(value - refused);
  }
};

// The category. It is constant-initialised and has no guard, because users would wait on a guard for ever if the end of
// a run stopped a goroutine in the initialiser. It is never destroyed, because it may be used until the process ends.
union never_destroyed {
  constexpr never_destroyed() noexcept : value() {}
  ~never_destroyed() {}  // NOLINT(modernize-use-equals-default): the member's destructor must not run
  never_destroyed(never_destroyed const&) = delete;
  never_destroyed& operator=(never_destroyed const&) = delete;

  category value;
};
constinit never_destroyed the_one;

}  // namespace

std::error_category const& tls_category() noexcept { return the_one.value; }

bool is_certificate_error(std::error_code const& error) noexcept {
  return error.category() == tls_category() && error.value() >= refused && error.value() < openssl_codes_from;
}

namespace detail {

std::error_code take_openssl_error(SSL const* ssl) noexcept {
  unsigned long const code = ERR_get_error();
  ERR_clear_error();
  if (code == 0) return tls_errc::no_reason;
  if (ERR_SYSTEM_ERROR(code)) return {static_cast<int>(ERR_GET_REASON(code)), std::generic_category()};
  if (ERR_GET_REASON(code) == ERR_R_MALLOC_FAILURE) return std::make_error_code(std::errc::not_enough_memory);
  if (ssl != nullptr && ERR_GET_LIB(code) == ERR_LIB_SSL && ERR_GET_REASON(code) == SSL_R_CERTIFICATE_VERIFY_FAILED) {
    return {refused + static_cast<int>(SSL_get_verify_result(ssl)), tls_category()};
  }
  return {static_cast<int>(code), tls_category()};
}

}  // namespace detail
}  // namespace thrum
