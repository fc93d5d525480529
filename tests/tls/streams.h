// Two ends of a TLS connection for a test.
#pragma once

#include "support/sockets.h"
#include "tls/certificates.h"
#include <thrum/thrum.h>
#include <thrum/tls.h>

#include <array>
#include <string_view>
#include <system_error>
#include <utility>

namespace thrum::test {

struct tls_pair {
  tls_stream client;
  tls_stream server;
};

// Over a pair of Unix sockets; no handshake yet.
inline tls_pair quiet_pair(tls_context const& client, tls_context const& server, std::string_view host = "localhost") {
  auto ends = unix_conn::pair();
  return {tls_stream::client(std::move(ends.first), client, host), tls_stream::server(std::move(ends.second), server)};
}

struct handshake_errors {
  std::error_code client;
  std::error_code server;
};

// Both handshakes at once. In TLS 1.3 a client's handshake is done before the server has seen its certificate, so only
// the client's first read reports that it was refused.
inline handshake_errors shake_hands(tls_pair& both) {
  handshake_errors seen;
  auto server = spawn([&] { both.server.handshake(seen.server); });
  both.client.handshake(seen.client);
  server.join();
  return seen;
}

inline tls_pair ready_pair(tls_context const& client, tls_context const& server) {
  tls_pair both = quiet_pair(client, server);
  handshake_errors const seen = shake_hands(both);
  EXPECT_FALSE(seen.client) << seen.client.message();
  EXPECT_FALSE(seen.server) << seen.server.message();
  return both;
}
inline tls_pair ready_pair() { return ready_pair(good_client(), good_server()); }

// Answers until the other side says goodbye, or something is wrong.
inline std::error_code answer_all(tls_stream& over) {
  std::array<char, 4096> bytes{};
  std::error_code error;
  while (std::size_t const n = over.read_some(bytes, error)) {
    over.write_all({bytes.data(), n}, error);
    if (error) break;
  }
  return error;
}

}  // namespace thrum::test
