// What stands behind a tls_context: OpenSSL's SSL_CTX and what its callbacks look at. Never changes once it is made, but for the
// keys of tickets, which see to that themselves.
//
// The callbacks run inside calls of OpenSSL, so they may not park. They are ours alone; nothing of the user's is called there.
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
  std::vector<loaded_identity> identities;  // of a server
  std::string protocols;                    // each with its length before it, as ALPN has them
  mutable ticket_keys tickets;              // of a server: the one thing that changes
};

}  // namespace thrum::detail
