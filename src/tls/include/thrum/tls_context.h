// tls_context: which certificates to trust, which one to present, and which protocols to offer. It is made once and
// shared by all connections.
//
//   auto trust = thrum::tls_context::client();                                   // the system's roots
//   auto own = thrum::tls_context::client({.roots_file = "our_ca.pem"});         // only these roots
//   auto server = thrum::tls_context::server({
//       .identities = {{"example.org.pem", "example.org.key"}, {"example.net.pem", "example.net.key"}},
//       .protocols = {"h2", "http/1.1"}});
//
// Clients check the certificate chain and the name. TLS 1.2 is the minimum. Renegotiation and compression are off. The
// files are read in these calls, on the calling goroutine; reading the system's roots takes some ten milliseconds.
//
// Errors: each call has a form that throws std::system_error and one with a std::error_code. Errors are a file that
// does not exist, a file without PEM data, and a key that does not belong to its certificate.
//
// Thread safety: a context never changes. Any number of goroutines and threads may use one. Copying it costs a
// reference count.
#pragma once

#include <thrum/fd.h>
#include <thrum/tls_error.h>

#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace thrum {

namespace detail {
struct tls_context_state;
}

// A certificate and its key, as PEM files. The chain file holds the certificate first and then those that signed it. A
// key with a password is refused.
struct tls_identity {
  std::string chain_file;
  std::string key_file;
};

struct tls_client_options {
  std::string roots_file = {};                // PEM; empty: the system's roots (OpenSSL's, SSL_CERT_FILE, SSL_CERT_DIR)
  std::vector<std::string> protocols = {};    // offered by ALPN, the preferred one first; empty: no ALPN
  std::optional<tls_identity> identity = {};  // for servers that ask for a client certificate
  // Checks neither the chain nor the name. An attacker in the network can then read and change everything.
  bool dangerously_trust_anybody = false;
};

struct tls_server_options {
  // If the client names a host, it gets the first identity whose certificate has that name. Otherwise it gets the
  // first.
  std::vector<tls_identity> identities = {};
  // ALPN, the preferred one first; empty: no ALPN. A client that offers only other protocols is refused. A client that
  // offers none is accepted.
  std::vector<std::string> protocols = {};
  // If not empty, only clients with a certificate that one of these roots signed are accepted.
  std::string client_roots_file = {};
};

class tls_context {
 public:
  tls_context() noexcept = default;  // empty; cannot be used for connections

  static tls_context client(tls_client_options const& chosen = {}) {
    return detail::or_throw("tls_context::client", [&](std::error_code& e) { return client(chosen, e); });
  }
  static tls_context client(tls_client_options const& chosen, std::error_code& error);
  static tls_context server(tls_server_options const& chosen) {
    return detail::or_throw("tls_context::server", [&](std::error_code& e) { return server(chosen, e); });
  }
  static tls_context server(tls_server_options const& chosen, std::error_code& error);

 private:
  friend class tls_stream;
  explicit tls_context(std::shared_ptr<detail::tls_context_state const> state) noexcept : state_(std::move(state)) {}

  std::shared_ptr<detail::tls_context_state const> state_;
};

}  // namespace thrum
