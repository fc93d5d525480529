// unique_ptr types for OpenSSL's objects.
#pragma once

#include <memory>

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

namespace thrum::detail {

template <auto Free>
struct freed_by {
  template <class T>
  void operator()(T* object) const noexcept {
    Free(object);
  }
};
inline void free_text(unsigned char* text) noexcept { OPENSSL_free(text); }
inline void free_chain(STACK_OF(X509) * chain) noexcept { sk_X509_pop_free(chain, &X509_free); }

using owned_bio = std::unique_ptr<BIO, freed_by<&BIO_free>>;
using owned_certificate = std::unique_ptr<X509, freed_by<&X509_free>>;
using owned_chain = std::unique_ptr<STACK_OF(X509), freed_by<&free_chain>>;
using owned_names = std::unique_ptr<GENERAL_NAMES, freed_by<&GENERAL_NAMES_free>>;
using owned_text = std::unique_ptr<unsigned char, freed_by<&free_text>>;
using owned_key = std::unique_ptr<EVP_PKEY, freed_by<&EVP_PKEY_free>>;
using owned_ssl = std::unique_ptr<SSL, freed_by<&SSL_free>>;
using owned_ssl_ctx = std::unique_ptr<SSL_CTX, freed_by<&SSL_CTX_free>>;

}  // namespace thrum::detail
