// A certificate, those that signed it, and its key, as they were read from files.
#pragma once

#include "tls/owned.h"
#include <thrum/tls_context.h>

#include <string_view>
#include <system_error>

#include <openssl/x509v3.h>

namespace thrum::detail {

struct loaded_identity {
  owned_certificate certificate;
  owned_chain chain;  // the others, without the first
  owned_key key;

  // `name`: no number of an address; a wildcard in the certificate matches.
  [[nodiscard]] bool has_name(char const* name) const noexcept;
};

// OpenSSL would read a path or a name up to its first NUL, and mean another one than the caller.
[[nodiscard]] inline bool has_nul(std::string_view text) noexcept { return text.find('\0') != std::string_view::npos; }

[[nodiscard]] loaded_identity load_identity(tls_identity const& from, std::error_code& error);

// How names are compared, everywhere: among the alternative names only, and "*" stands for a whole label.
inline constexpr unsigned name_check_flags = X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS;

}  // namespace thrum::detail
