// tls_context: whom to trust, who to be, what to speak. Made once, shared by all connections.
//
//   auto trust = thrum::tls_context::client();                                   // the system's roots
//   auto own = thrum::tls_context::client({.roots_file = "our_ca.pem"});         // these and no others
//   auto server = thrum::tls_context::server({
//       .identities = {{"example.org.pem", "example.org.key"}, {"example.net.pem", "example.net.key"}},
//       .protocols = {"h2", "http/1.1"}});
//
// Clients check the chain and the name. TLS 1.2 is the least, renegotiation and compression are off. The files are read here, in
// the middle of the calling goroutine; the system's roots take some ten milliseconds.
//
// Errors: a form that throws std::system_error and one with a std::error_code; a file that is not there, nothing of PEM in it, a key
// that does not belong to its certificate.
//
// Thread safety: never changes; any number of goroutines and threads may use one, and copies of it, which cost a count.
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

// Who one is: a certificate with those that signed it, its own first, and its key; PEM files. A key with a password is refused.
struct tls_identity {
  std::string chain_file;
  std::string key_file;
};

struct tls_client_options {
  std::string roots_file = {};                // PEM; empty: the system's roots (OpenSSL's, SSL_CERT_FILE, SSL_CERT_DIR)
  std::vector<std::string> protocols = {};    // what to offer by ALPN, the best first; empty: no ALPN
  std::optional<tls_identity> identity = {};  // for servers that ask who the client is
  bool dangerously_trust_anybody =
      false;  // checks neither chain nor name: whoever sits on the line can read and change all
};

struct tls_server_options {
  // A client that says which host it wants gets the first whose certificate has that name; else the first.
  std::vector<tls_identity> identities = {};
  // ALPN, the best first. A client that offers others only is refused; one that offers none is not. Empty: no ALPN.
  std::vector<std::string> protocols = {};
  std::string client_roots_file = {};  // not empty: only clients with a certificate that one of these signed
};

class tls_context {
 public:
  tls_context() noexcept = default;  // none: not to be used

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
