#include "tls/session.h"

#include "tls/errors.h"
#include <thrum/tls_error.h>

#include <new>
#include <string>
#include <utility>

#include <openssl/x509v3.h>

namespace thrum::detail {
namespace {

bool is_address(std::string const& host) noexcept {
  ASN1_OCTET_STRING* const address = a2i_IPADDRESS(host.c_str());
  ASN1_OCTET_STRING_free(address);
  ERR_clear_error();  // a2i_IPADDRESS leaves an error if the text is not an address
  return address != nullptr;
}

// The host in the form that certificates use: an address without brackets and zone, a name without the final dot.
std::string plain_form(std::string_view host) {
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (host.ends_with('.')) host.remove_suffix(1);
  std::string without_zone(host.substr(0, host.find('%')));
  return is_address(without_zone) ? without_zone : std::string(host);
}

// A name that begins with a dot is refused, because OpenSSL would accept all names that end with it.
bool is_one_host(std::string_view host) noexcept { return !host.starts_with('.'); }

// Does what the macro SSL_set_tlsext_host_name does, without its C-style cast.
bool send_name(SSL* ssl, std::string const& host) noexcept {
  return SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, const_cast<char*>(host.c_str())) == 1;
}

// Sets the name that is sent to the server (SNI, not for an address), and the name or address that its certificate must
// have.
bool expect_host(SSL* ssl, std::string const& host) noexcept {
  if (is_address(host)) return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host.c_str()) == 1;
  SSL_set_hostflags(ssl, name_check_flags);
  return send_name(ssl, host) && SSL_set1_host(ssl, host.c_str()) == 1;
}

}  // namespace

std::unique_ptr<tls_session> tls_session::open(std::shared_ptr<tls_context_state const> context, std::string_view host,
                                               std::error_code& error) {
  if (has_nul(host)) {
    error = tls_errc::bad_host;
    return nullptr;
  }
  std::string const expected = plain_form(host);
  if (context->role == tls_role::client) {
    if (expected.empty() && context->verifies) error = tls_errc::no_host;
    if (!is_one_host(expected)) error = tls_errc::bad_host;
    if (error) return nullptr;
  }
  std::unique_ptr<tls_session> session(new tls_session(std::move(context)));
  ERR_clear_error();
  if (session->set_up(expected)) return session;
  error = take_openssl_error(nullptr);
  return nullptr;
}

bool tls_session::set_up(std::string const& host) {
  ssl_.reset(SSL_new(context_->ctx.get()));
  if (!ssl_) return false;
  BIO* const bio = new_wire_bio(wire_);
  if (bio == nullptr) return false;
  SSL_set_bio(ssl_.get(), bio, bio);
  if (context_->role == tls_role::server) {
    SSL_set_accept_state(ssl_.get());
    return true;
  }
  SSL_set_connect_state(ssl_.get());
  return host.empty() || expect_host(ssl_.get(), host);
}

tls_outcome tls_session::judge(int answer) noexcept {
  tls_outcome outcome{tls_result::success, false, inputs_, {}};
  switch (SSL_get_error(ssl_.get(), answer)) {
    case SSL_ERROR_NONE: break;
    case SSL_ERROR_WANT_READ: outcome.how = tls_result::wants_input; break;
    case SSL_ERROR_ZERO_RETURN: outcome.how = tls_result::end; break;
    default: outcome.how = tls_result::failure; outcome.error = broken_ = take_openssl_error(ssl_.get());
  }
  outcome.has_output = !wire_.output.empty();
  return outcome;
}

void tls_session::input_came(std::size_t bytes) {
  std::lock_guard const guard(lock_);
  wire_.input_begin = 0;
  wire_.input_end = bytes;
  ++inputs_;
}

std::uint64_t tls_session::inputs() {
  std::lock_guard const guard(lock_);
  return inputs_;
}

void tls_session::take_output(std::vector<unsigned char>& to) {
  std::lock_guard const guard(lock_);
  to.swap(wire_.output);
}

std::size_t tls_session::output_bytes() {
  std::lock_guard const guard(lock_);
  return wire_.output.size();
}

}  // namespace thrum::detail
