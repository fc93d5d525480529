// A certificate, the certificates of its chain, and its private key, read from PEM files.
#pragma once

#include "tls/owned.h"
#include <thrum/tls_context.h>

#include <string_view>
#include <system_error>

#include <openssl/x509v3.h>

namespace thrum::detail {

struct loaded_identity {
  owned_certificate certificate;
  owned_chain chain;  // the certificates of the file after the first one
  owned_key key;

  // True if the certificate is valid for the host `name`, which must not be an IP address. Wildcards in the certificate
  // count.
  [[nodiscard]] bool has_name(char const* name) const noexcept;
};

// OpenSSL reads a path or a name only up to its first NUL, so it would use another one than the caller meant.
[[nodiscard]] inline bool has_nul(std::string_view text) noexcept { return text.find('\0') != std::string_view::npos; }

[[nodiscard]] loaded_identity load_identity(tls_identity const& from, std::error_code& error);

// The flags for every comparison of host names: only the subject alternative names count, and "*" stands for a whole
// label.
inline constexpr unsigned name_check_flags = X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS;

}  // namespace thrum::detail
