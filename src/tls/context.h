// The state behind a tls_context: OpenSSL's SSL_CTX and the data that its callbacks read. It does not change once it is
// made, except for the ticket keys, which synchronise themselves.
//
// The callbacks run inside calls of OpenSSL, so they must not park. All callbacks are thrum's own; no user code runs in
// them.
#pragma once

#include "tls/identity.h"
#include "tls/owned.h"
#include "tls/ticket_keys.h"

#include <cstdint>
#include <string>
#include <vector>

namespace thrum::detail {

enum class tls_role : std::uint8_t { client, server };

struct tls_context_state {
  owned_ssl_ctx ctx;
  tls_role role = tls_role::client;
  bool verifies = true;
  std::vector<loaded_identity> identities;  // for a server
  std::string protocols;                    // in ALPN's wire format: each name after one byte with its length
  mutable ticket_keys tickets;              // for a server; the only member that changes
};

}  // namespace thrum::detail
