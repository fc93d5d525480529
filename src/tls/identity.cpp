#include "tls/identity.h"

#include "tls/errors.h"

#include <string>

#include <openssl/err.h>
#include <openssl/pem.h>

namespace thrum::detail {
namespace {

// Refuses to give a password for an encrypted file. Without this callback OpenSSL would ask for it on the terminal,
// which would block the goroutine's thread.
int no_password(char* /*to*/, int /*size*/, int /*writing*/, void* /*context*/) { return -1; }

owned_bio open_file(std::string const& path) noexcept { return owned_bio(BIO_new_file(path.c_str(), "r")); }

bool is_end_of_pem(unsigned long code) noexcept {
  return ERR_GET_LIB(code) == ERR_LIB_PEM && ERR_GET_REASON(code) == PEM_R_NO_START_LINE;
}

// Reads the certificates after the first one.
bool load_chain(BIO* from, STACK_OF(X509) * to) noexcept {
  for (;;) {
    owned_certificate next(PEM_read_bio_X509(from, nullptr, &no_password, nullptr));
    if (!next) break;
    if (sk_X509_push(to, next.get()) <= 0) return false;
    static_cast<void>(next.release());
  }
  return is_end_of_pem(ERR_peek_last_error());
}

bool load(tls_identity const& from, loaded_identity& to) noexcept {
  owned_bio const chain_file = open_file(from.chain_file);
  if (!chain_file) return false;
  to.certificate.reset(PEM_read_bio_X509_AUX(chain_file.get(), nullptr, &no_password, nullptr));
  to.chain.reset(sk_X509_new_null());
  if (!to.certificate || !to.chain || !load_chain(chain_file.get(), to.chain.get())) return false;
  ERR_clear_error();  // load_chain leaves the error "no start line" of the file's end
  owned_bio const key_file = open_file(from.key_file);
  if (!key_file) return false;
  to.key.reset(PEM_read_bio_PrivateKey(key_file.get(), nullptr, &no_password, nullptr));
  return to.key && X509_check_private_key(to.certificate.get(), to.key.get()) == 1;
}

}  // namespace

bool loaded_identity::has_name(char const* name) const noexcept {
  return X509_check_host(certificate.get(), name, 0, name_check_flags, nullptr) == 1;
}

loaded_identity load_identity(tls_identity const& from, std::error_code& error) {
  loaded_identity loaded;
  ERR_clear_error();
  if (has_nul(from.chain_file) || has_nul(from.key_file)) {
    error = std::make_error_code(std::errc::invalid_argument);
  } else if (!load(from, loaded)) {
    error = take_openssl_error(nullptr);
  }
  return loaded;
}

}  // namespace thrum::detail
