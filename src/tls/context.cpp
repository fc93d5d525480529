#include "tls/context.h"

#include "tls/errors.h"
#include <thrum/clock.h>
#include <thrum/tls_context.h>

#include <cstring>

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>

namespace thrum {

using namespace detail;

namespace {

std::string in_wire_form(std::vector<std::string> const& protocols, std::error_code& error) {
  std::string all;
  for (std::string const& each : protocols) {
    if (each.empty() || each.size() > 255) error = tls_errc::bad_protocol_name;
    all += static_cast<char>(static_cast<unsigned char>(each.size()));
    all += each;
  }
  return all;
}

unsigned char const* bytes_of(std::string const& text) noexcept {
  return reinterpret_cast<unsigned char const*>(text.data());
}

// Callback in which the server chooses among the protocols that the client offers.
int choose_protocol(SSL* /*ssl*/, unsigned char const** chosen, unsigned char* chosen_bytes,
                    unsigned char const* offered, unsigned offered_bytes, void* context) {
  std::string const& ours = static_cast<tls_context_state const*>(context)->protocols;
  unsigned char* found = nullptr;
  if (SSL_select_next_proto(&found, chosen_bytes, bytes_of(ours), static_cast<unsigned>(ours.size()), offered,
                            offered_bytes) != OPENSSL_NPN_NEGOTIATED) {
    return SSL_TLSEXT_ERR_ALERT_FATAL;  // RFC 7301: no_application_protocol
  }
  *chosen = found;
  return SSL_TLSEXT_ERR_OK;
}

// Callback in which the server chooses the certificate for the name that the client asked for. If no certificate has
// that name, or the client named none, the server uses the first identity, which the SSL_CTX has.
int choose_identity(SSL* ssl, void* context) {
  char const* const name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
  if (name == nullptr) return 1;
  for (loaded_identity const& each : static_cast<tls_context_state const*>(context)->identities) {
    if (!each.has_name(name)) continue;
    // Without this, a certificate with another type of key would be added to the first one, and the client's
    // preferences would decide between them.
    SSL_certs_clear(ssl);
    return SSL_use_cert_and_key(ssl, each.certificate.get(), each.key.get(), each.chain.get(), 1);
  }
  return 1;
}

bool use_identity(SSL_CTX* ctx, loaded_identity const& who) noexcept {
  return SSL_CTX_use_cert_and_key(ctx, who.certificate.get(), who.key.get(), who.chain.get(), 1) == 1;
}

bool trust(SSL_CTX* ctx, std::string const& roots_file, std::error_code& error) noexcept {
  if (has_nul(roots_file)) {
    error = std::make_error_code(std::errc::invalid_argument);
    return false;
  }
  if (roots_file.empty()) return SSL_CTX_set_default_verify_paths(ctx) == 1;
  return SSL_CTX_load_verify_file(ctx, roots_file.c_str()) == 1;
}

// Callback that sets up the cipher to seal or open a session ticket. Returns 1 if the ticket is good, 2 if it is good
// and the client gets a new one, 0 if the connection goes on without a ticket, and -1 if OpenSSL failed.
int choose_ticket_key(SSL* ssl, unsigned char* name, unsigned char* iv, EVP_CIPHER_CTX* cipher, EVP_MAC_CTX* mac,
                      int seals) {
  auto& keys = static_cast<tls_context_state const*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)))->tickets;
  std::int64_t const now_ns = clock::now().time_since_epoch().count();
  ticket_key key;
  int answer = 1;
  if (seals != 0) {
    EVP_CIPHER const* const aes = EVP_aes_256_cbc();
    if (!keys.newest(now_ns, key)) return 0;
    if (RAND_bytes(iv, EVP_CIPHER_get_iv_length(aes)) != 1) return -1;
    std::memcpy(name, key.name.data(), key.name.size());
    if (EVP_EncryptInit_ex(cipher, aes, nullptr, key.cipher.data(), iv) != 1) return -1;
  } else {
    auto const found = keys.find(name, now_ns, key);
    if (found == ticket_keys::key_age::none) return 0;
    if (found == ticket_keys::key_age::older) answer = 2;
    if (EVP_DecryptInit_ex(cipher, EVP_aes_256_cbc(), nullptr, key.cipher.data(), iv) != 1) return -1;
  }
  char digest[] = "sha256";
  OSSL_PARAM const how[] = {OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, key.mac.data(), key.mac.size()),
                            OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
                            OSSL_PARAM_construct_end()};
  return EVP_MAC_CTX_set_params(mac, how) == 1 ? answer : -1;
}

std::shared_ptr<tls_context_state> new_context(tls_role role) {
  // OpenSSL must not clean up at exit, because a goroutine that was stopped at the end of a run may hold one of its
  // locks.
  OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT, nullptr);
  auto made = std::make_shared<tls_context_state>();
  made->role = role;
  ERR_clear_error();
  made->ctx.reset(SSL_CTX_new(role == tls_role::client ? TLS_client_method() : TLS_server_method()));
  if (!made->ctx || SSL_CTX_set_min_proto_version(made->ctx.get(), TLS1_2_VERSION) != 1) return nullptr;
  SSL_CTX* const ctx = made->ctx.get();
  SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  // A write of several records returns after each record, and it may be repeated from another buffer address. Idle
  // connections keep no buffers.
  SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
  // Session tickets carry what is needed to resume a session. A cache would have a lock that all connections share.
  SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
  return made;
}

bool set_up_client(tls_context_state& state, tls_client_options const& chosen, std::error_code& error) {
  SSL_CTX* const ctx = state.ctx.get();
  state.verifies = !chosen.dangerously_trust_anybody;
  SSL_CTX_set_verify(ctx, state.verifies ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
  if (state.verifies && !trust(ctx, chosen.roots_file, error)) return false;
  if (chosen.identity) {
    loaded_identity const who = load_identity(*chosen.identity, error);
    if (error || !use_identity(ctx, who)) return false;
  }
  state.protocols = in_wire_form(chosen.protocols, error);
  if (error || state.protocols.empty()) return !error;
  return SSL_CTX_set_alpn_protos(ctx, bytes_of(state.protocols), static_cast<unsigned>(state.protocols.size())) == 0;
}

bool set_up_server(tls_context_state& state, tls_server_options const& chosen, std::error_code& error) {
  SSL_CTX* const ctx = state.ctx.get();
  if (chosen.identities.empty()) error = tls_errc::no_identity;
  for (tls_identity const& each : chosen.identities) {
    state.identities.push_back(load_identity(each, error));
    if (error) return false;
  }
  state.protocols = in_wire_form(chosen.protocols, error);
  if (error || !use_identity(ctx, state.identities.front())) return false;
  SSL_CTX_set_cert_cb(ctx, &choose_identity, &state);
  SSL_CTX_set_app_data(ctx, &state);
  if (SSL_CTX_set_tlsext_ticket_key_evp_cb(ctx, &choose_ticket_key) != 1) return false;
  // The first key is made before the first handshake, so that no handshake finds the day claimed and the key not yet
  // there.
  ticket_key first;
  if (!state.tickets.newest(clock::now().time_since_epoch().count(), first)) return false;
  if (!state.protocols.empty()) SSL_CTX_set_alpn_select_cb(ctx, &choose_protocol, &state);
  state.verifies = !chosen.client_roots_file.empty();
  if (!state.verifies) return true;
  SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  // A client that is verified may resume only sessions that this program began.
  constexpr unsigned char resumed_by[] = "thrum";
  if (SSL_CTX_set_session_id_context(ctx, resumed_by, sizeof resumed_by - 1) != 1) return false;
  if (!trust(ctx, chosen.client_roots_file, error)) return false;
  auto* const names = SSL_load_client_CA_file(chosen.client_roots_file.c_str());
  if (names == nullptr) return false;
  SSL_CTX_set_client_CA_list(ctx, names);
  return true;
}

// Makes a context and calls set_up(state, error). If that returns false without setting `error`, OpenSSL's error is
// reported.
template <class SetUp>
std::shared_ptr<tls_context_state const> make_context(tls_role role, std::error_code& error, SetUp set_up) {
  error.clear();
  auto made = new_context(role);
  if (made && set_up(*made, error)) return made;
  std::error_code const from_openssl = take_openssl_error(nullptr);
  if (!error) error = from_openssl;
  return nullptr;
}

}  // namespace

tls_context tls_context::client(tls_client_options const& chosen, std::error_code& error) {
  return tls_context(make_context(tls_role::client, error, [&](tls_context_state& state, std::error_code& e) {
    return set_up_client(state, chosen, e);
  }));
}

tls_context tls_context::server(tls_server_options const& chosen, std::error_code& error) {
  return tls_context(make_context(tls_role::server, error, [&](tls_context_state& state, std::error_code& e) {
    return set_up_server(state, chosen, e);
  }));
}

}  // namespace thrum
