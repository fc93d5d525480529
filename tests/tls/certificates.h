// Certificates for the tests, made by OpenSSL into a directory that is removed with the process.
#pragma once

#include "tls/owned.h"
#include <thrum/tls_context.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>

namespace thrum::test {

class paper_folder {
 public:
  paper_folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "thrum_tls_XXXXXX").string();
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    path_ = pattern;
  }
  ~paper_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  paper_folder(paper_folder const&) = delete;
  paper_folder& operator=(paper_folder const&) = delete;

  [[nodiscard]] std::string new_file(char const* suffix) {
    return (path_ / (std::to_string(next_++) + suffix)).string();
  }

 private:
  std::filesystem::path path_;
  std::atomic<int> next_{0};
};

inline paper_folder& papers() {
  static paper_folder the_one;
  return the_one;
}

template <class Write>
std::string write_pem(char const* suffix, Write write) {
  std::string path = papers().new_file(suffix);
  detail::owned_bio const file(BIO_new_file(path.c_str(), "w"));
  EXPECT_TRUE(file && write(file.get()) == 1) << path;
  return path;
}

struct wish {
  std::string common_name = "localhost";
  std::string names = "DNS:localhost,IP:127.0.0.1";  // empty: none
  long from_s = -3600;                               // from now
  long until_s = 86400;
  char const* key = "EC";  // or "RSA", which takes its time, or "ED25519"
  bool is_authority = false;
};

// A certificate and its key, in memory and as files.
struct papers_of {
  detail::owned_certificate certificate;
  detail::owned_key key;
  tls_identity files;
};

inline void add_extension(X509* to, X509* issuer, int nid, std::string const& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, to, nullptr, nullptr, 0);
  X509_EXTENSION* const made = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
  ASSERT_NE(made, nullptr) << value;
  EXPECT_EQ(X509_add_ext(to, made, -1), 1);
  X509_EXTENSION_free(made);
}

inline EVP_PKEY* new_key(std::string const& kind) {
  if (kind == "RSA") return EVP_RSA_gen(2048);
  return kind == "EC" ? EVP_EC_gen("P-256") : EVP_PKEY_Q_keygen(nullptr, nullptr, kind.c_str());
}

// Without an issuer it signs itself.
inline papers_of issue(wish const& wanted, papers_of const* issuer = nullptr) {
  static std::atomic<long> serial{1};
  papers_of made;
  made.key.reset(new_key(wanted.key));
  made.certificate.reset(X509_new());
  X509* const x = made.certificate.get();
  X509* const by = issuer != nullptr ? issuer->certificate.get() : x;
  X509_set_version(x, X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(x), serial++);
  X509_gmtime_adj(X509_getm_notBefore(x), wanted.from_s);
  X509_gmtime_adj(X509_getm_notAfter(x), wanted.until_s);
  if (!wanted.common_name.empty()) {
    auto const* const text = reinterpret_cast<unsigned char const*>(wanted.common_name.c_str());
    X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_UTF8, text, -1, -1, 0);
  }
  X509_set_issuer_name(x, X509_get_subject_name(by));
  X509_set_pubkey(x, made.key.get());
  add_extension(x, by, NID_basic_constraints, wanted.is_authority ? "critical,CA:TRUE" : "CA:FALSE");
  if (!wanted.names.empty()) add_extension(x, by, NID_subject_alt_name, wanted.names);
  EXPECT_GT(X509_sign(x, issuer != nullptr ? issuer->key.get() : made.key.get(), EVP_sha256()), 0);
  made.files.chain_file = write_pem(".pem", [x](BIO* to) { return PEM_write_bio_X509(to, x); });
  made.files.key_file = write_pem(".key", [&](BIO* to) {
    return PEM_write_bio_PrivateKey(to, made.key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  });
  return made;
}

// The one that all tests trust.
inline papers_of const& authority() {
  static papers_of const the_one = issue({.common_name = "thrum's test authority", .names = "", .is_authority = true});
  return the_one;
}
inline std::string const& roots() { return authority().files.chain_file; }

// Of localhost, signed by the authority.
inline papers_of const& good_papers() {
  static papers_of const the_one = issue({}, &authority());
  return the_one;
}

inline tls_context good_server() { return tls_context::server({.identities = {good_papers().files}}); }
inline tls_context good_client() { return tls_context::client({.roots_file = roots()}); }

}  // namespace thrum::test
