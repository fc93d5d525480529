// thrum::tls_stream (thrum/tls.h). Its calls go to the tls_link behind it (tls/link.h).
#include "tls/link.h"
#include <thrum/io_error.h>
#include <thrum/tcp.h>
#include <thrum/tls.h>

#include <memory>
#include <string>

#include <openssl/x509v3.h>

namespace thrum {

using namespace detail;

namespace {

std::string text_of(ASN1_STRING const* text) {
  unsigned char* utf8 = nullptr;
  int const bytes = ASN1_STRING_to_UTF8(&utf8, text);
  if (bytes < 0) return {};
  owned_text const owner(utf8);
  return {reinterpret_cast<char const*>(utf8), static_cast<std::size_t>(bytes)};
}

std::string common_name_of(X509 const* certificate) {
  X509_NAME* const subject = X509_get_subject_name(certificate);
  int const at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  return at < 0 ? std::string() : text_of(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
}

std::string first_dns_name_of(X509 const* certificate) {
  owned_names const names(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; i < sk_GENERAL_NAME_num(names.get()); ++i) {
    GENERAL_NAME const* const name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type == GEN_DNS) return text_of(name->d.dNSName);
  }
  return {};
}

std::string or_nothing(char const* text) { return text == nullptr ? std::string() : std::string(text); }

// Returns question(SSL*) once the handshake is done. Before that nothing is agreed upon, and the result is empty.
template <class Question>
std::string agreed(tls_link* link, Question question) {
  if (link == nullptr || !link->is_established()) return {};
  return link->session().ask(question);
}

// The "host" of "host:port"; "localhost" if it is empty.
std::string_view host_of(std::string_view address) noexcept {
  std::string_view const host = address.substr(0, address.rfind(':'));
  return host.empty() ? "localhost" : host;
}

}  // namespace

tls_stream::tls_stream() noexcept = default;
tls_stream::tls_stream(tls_stream&&) noexcept = default;
tls_stream& tls_stream::operator=(tls_stream&&) noexcept = default;
tls_stream::~tls_stream() = default;
tls_stream::tls_stream(std::unique_ptr<tls_link> link) noexcept : link_(std::move(link)) {}

namespace {

std::unique_ptr<tls_link> make_link(std::unique_ptr<tls_transport> below, tls_role role,
                                    std::shared_ptr<tls_context_state const> context, std::string_view host,
                                    std::error_code& error) {
  error.clear();
  if (!context || context->role != role) {
    error = tls_errc::wrong_role;
    return nullptr;
  }
  auto session = tls_session::open(std::move(context), host, error);
  return session ? std::make_unique<tls_link>(std::move(below), std::move(session)) : nullptr;
}

// Returns the result of call(link), or sets an error if there is no link.
template <class Call>
auto on(tls_link* link, std::error_code& error, Call call) -> decltype(call(*link)) {
  error.clear();
  if (link != nullptr) return call(*link);
  error = std::make_error_code(std::errc::bad_file_descriptor);
  return decltype(call(*link))();
}

}  // namespace

tls_stream tls_stream::make_client(std::unique_ptr<tls_transport> below, tls_context const& context,
                                   std::string_view host, std::error_code& error) {
  return tls_stream(make_link(std::move(below), tls_role::client, context.state_, host, error));
}

tls_stream tls_stream::make_server(std::unique_ptr<tls_transport> below, tls_context const& context,
                                   std::error_code& error) {
  return tls_stream(make_link(std::move(below), tls_role::server, context.state_, {}, error));
}

tls_stream tls_stream::dial(std::string_view address, tls_context const& context, std::chrono::nanoseconds timeout,
                            std::error_code& error) {
  error.clear();
  clock::time_point const until(clock::duration(deadline_after(timeout)));
  tcp_conn conn = tcp_conn::dial(address, timeout, error);
  if (error) return {};
  tls_stream stream = client(std::move(conn), context, host_of(address), error);
  if (!error) stream.set_deadline(until, error);
  if (!error) stream.handshake(error);
  if (!error) stream.set_deadline(no_deadline, error);
  return error ? tls_stream() : std::move(stream);
}

void tls_stream::handshake(std::error_code& error) {
  on(link_.get(), error, [&](tls_link& link) { link.handshake(error); });
}

std::size_t tls_stream::read_some(mutable_buffer to, std::error_code& error) {
  return on(link_.get(), error, [&](tls_link& link) { return link.read(to, tls_link::amount::some, error); });
}
std::size_t tls_stream::read_full(mutable_buffer to, std::error_code& error) {
  std::size_t const done =
      on(link_.get(), error, [&](tls_link& link) { return link.read(to, tls_link::amount::all, error); });
  if (!error && done != 0 && done < to.size()) error = io_errc::unexpected_end;
  return done;
}
std::size_t tls_stream::write_some(const_buffer from, std::error_code& error) {
  return on(link_.get(), error, [&](tls_link& link) {
    return link.write(std::span<const_buffer const>(&from, 1), tls_link::amount::some, error);
  });
}
std::size_t tls_stream::write_all(std::span<const_buffer const> from, std::error_code& error) {
  return on(link_.get(), error, [&](tls_link& link) { return link.write(from, tls_link::amount::all, error); });
}

void tls_stream::shutdown(std::error_code& error) {
  on(link_.get(), error, [&](tls_link& link) { link.shutdown(error); });
}
void tls_stream::close(std::error_code& error) {
  on(link_.get(), error, [&](tls_link& link) { link.close(error); });
}
bool tls_stream::is_open() const noexcept { return link_ && link_->is_open(); }
void tls_stream::set_deadlines(bool read, bool write, clock::time_point when, std::error_code& error) {
  on(link_.get(), error, [&](tls_link& link) { link.set_deadlines(read, write, when, error); });
}

std::string tls_stream::version() const {
  return agreed(link_.get(), [](SSL* ssl) { return or_nothing(SSL_get_version(ssl)); });
}
std::string tls_stream::cipher() const {
  return agreed(link_.get(), [](SSL* ssl) { return or_nothing(SSL_get_cipher_name(ssl)); });
}
std::string tls_stream::protocol() const {
  return agreed(link_.get(), [](SSL* ssl) {
    unsigned char const* name = nullptr;
    unsigned bytes = 0;
    SSL_get0_alpn_selected(ssl, &name, &bytes);
    return std::string(reinterpret_cast<char const*>(name), bytes);
  });
}
std::string tls_stream::server_name() const {
  return agreed(link_.get(), [](SSL* ssl) { return or_nothing(SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name)); });
}
std::string tls_stream::peer_name() const {
  return agreed(link_.get(), [](SSL* ssl) {
    X509 const* const certificate = SSL_get0_peer_certificate(ssl);
    if (certificate == nullptr) return std::string();
    std::string const common = common_name_of(certificate);
    return common.empty() ? first_dns_name_of(certificate) : common;
  });
}

tls_transport* tls_stream::transport() noexcept { return link_ ? &link_->below() : nullptr; }
ssl_st* tls_stream::native_handle() noexcept { return link_ ? link_->session().ssl() : nullptr; }

}  // namespace thrum
