// Which peers are accepted, and what a handshake negotiates.
#include "support/run_at.h"
#include "tls/streams.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace thrum {
namespace {

using test::authority;
using test::good_client;
using test::good_papers;
using test::good_server;
using test::issue;
using test::run_at;
using test::wish;

tls_context server_with(tls_identity const& who) { return tls_context::server({.identities = {who}}); }

// What the client says of this server.
test::handshake_errors meet(tls_context const& client, tls_context const& server, std::string_view host = "localhost") {
  test::tls_pair both = test::quiet_pair(client, server, host);
  return test::shake_hands(both);
}

void expect_refused(wish const& wanted, test::papers_of const* issuer, tls_errc why, char const* words) {
  run_at(2, [&] {
    auto const seen = meet(good_client(), server_with(issue(wanted, issuer).files));
    EXPECT_EQ(seen.client, why) << seen.client.message();
    EXPECT_TRUE(is_certificate_error(seen.client));
    EXPECT_NE(seen.client.message().find(words), std::string::npos) << seen.client.message();
    EXPECT_TRUE(seen.server);  // it was told by an alert
    EXPECT_EQ(seen.server.category(), tls_category());
    EXPECT_NE(seen.server.message().find("alert"), std::string::npos) << seen.server.message();
    EXPECT_FALSE(is_certificate_error(seen.server));
  });
}

TEST(tls_verify, TLS_a_wrong_host_name_is_refused) {
  expect_refused({.names = "DNS:elsewhere.example"}, &authority(), tls_errc::wrong_host, "ostname mismatch");
}
TEST(tls_verify, TLS_a_common_name_alone_is_no_name) {
  expect_refused({.names = ""}, &authority(), tls_errc::wrong_host, "ostname mismatch");
}
TEST(tls_verify, TLS_an_expired_certificate_is_refused) {
  expect_refused({.from_s = -7200, .until_s = -3600}, &authority(), tls_errc::expired, "expired");
}
TEST(tls_verify, TLS_a_certificate_of_tomorrow_is_refused) {
  expect_refused({.from_s = 86400, .until_s = 172800}, &authority(), tls_errc::not_yet_valid, "not yet valid");
}
TEST(tls_verify, TLS_a_self_signed_certificate_is_refused) {
  expect_refused({}, nullptr, tls_errc::self_signed, "self-signed");
}
TEST(tls_verify, TLS_an_unknown_authority_is_refused) {
  auto const other = issue({.common_name = "another authority", .names = "", .is_authority = true});
  expect_refused({}, &other, tls_errc::unknown_authority, "issuer");
}

TEST(tls_verify, TLS_the_systems_roots_are_the_default_and_ours_is_not_among_them) {
  run_at(2, [] {
    auto const seen = meet(tls_context::client(), good_server());
    EXPECT_EQ(seen.client, tls_errc::unknown_authority) << seen.client.message();
  });
}

TEST(tls_verify, TLS_numbers_and_wildcards_are_compared) {
  run_at(2, [] {
    auto const client = good_client();
    EXPECT_FALSE(meet(client, good_server(), "127.0.0.1").client);
    EXPECT_FALSE(meet(client, good_server(), "localhost.").client);
    EXPECT_EQ(meet(client, good_server(), "127.0.0.2").client, tls_errc::wrong_address);
    auto const star = server_with(issue({.names = "DNS:*.example.org"}, &authority()).files);
    EXPECT_FALSE(meet(client, star, "www.example.org").client);
    EXPECT_EQ(meet(client, star, "example.org").client, tls_errc::wrong_host);
    EXPECT_EQ(meet(client, star, "a.b.example.org").client, tls_errc::wrong_host);
  });
}

TEST(tls_verify, TLS_only_a_program_that_asks_for_danger_is_not_protected) {
  run_at(2, [] {
    auto const anybody = server_with(issue({.names = "", .from_s = -7200, .until_s = -3600}).files);
    auto const careless = tls_context::client({.dangerously_trust_anybody = true});
    EXPECT_FALSE(meet(careless, anybody).client);
    EXPECT_FALSE(meet(careless, anybody, "").client);
  });
}

// If a client asked for an empty name or for a whole family of names, it would accept any certificate.
TEST(tls_verify, TLS_a_host_that_is_no_name_is_refused_at_once) {
  run_at(2, [] {
    auto const why_not = [](std::string_view host) {
      std::error_code error;
      auto ends = unix_conn::pair();
      EXPECT_FALSE(tls_stream::client(std::move(ends.first), good_client(), host, error)) << host;
      return error;
    };
    for (std::string_view const nameless : {"", ".", "[]"}) EXPECT_EQ(why_not(nameless), tls_errc::no_host) << nameless;
    using namespace std::string_view_literals;
    for (std::string_view const odd : {".example"sv, ".."sv, "localhost\0.bank.example"sv, "\0"sv,
                                       "127.0.0.1\0.bank.example"sv, "::1%\0.bank.example"sv}) {
      EXPECT_EQ(why_not(odd), tls_errc::bad_host) << odd;
    }
    EXPECT_EQ(why_not(".example").message(), "this is not a valid host name");
  });
}

TEST(tls_verify, a_path_with_a_NUL_is_refused) {
  std::string const more("\0.bak", 5);
  std::error_code error;
  static_cast<void>(tls_context::client({.roots_file = test::roots() + more}, error));
  EXPECT_EQ(error, std::errc::invalid_argument);
  tls_identity const good = good_papers().files;
  static_cast<void>(tls_context::server({.identities = {{good.chain_file + more, good.key_file}}}, error));
  EXPECT_EQ(error, std::errc::invalid_argument);
  static_cast<void>(tls_context::server({.identities = {{good.chain_file, good.key_file + more}}}, error));
  EXPECT_EQ(error, std::errc::invalid_argument);
  static_cast<void>(tls_context::server({.identities = {good}, .client_roots_file = test::roots() + more}, error));
  EXPECT_EQ(error, std::errc::invalid_argument);
}

TEST(tls_verify, TLS_addresses_are_compared_without_brackets_and_zone_and_are_not_told_to_the_server) {
  run_at(2, [] {
    auto const server = server_with(issue({.names = "IP:::1,IP:fe80::1,IP:127.0.0.1"}, &authority()).files);
    for (std::string_view const host : {"::1", "[::1]", "fe80::1%eth0", "[fe80::1%25eth0]", "127.0.0.1"}) {
      auto both = test::quiet_pair(good_client(), server, host);
      EXPECT_FALSE(test::shake_hands(both).client) << host;
      EXPECT_EQ(both.server.server_name(), "") << host;
    }
    EXPECT_EQ(meet(good_client(), server, "[::2]").client, tls_errc::wrong_address);
  });
}

TEST(tls_verify, TLS_a_server_may_ask_clients_who_they_are) {
  run_at(2, [] {
    auto const strict = tls_context::server({.identities = {good_papers().files}, .client_roots_file = test::roots()});
    auto const without_certificate = meet(good_client(), strict);
    EXPECT_TRUE(without_certificate.server);
    EXPECT_NE(without_certificate.server.message().find("peer did not return a certificate"), std::string::npos)
        << without_certificate.server.message();
    auto const stranger = tls_context::client({.roots_file = test::roots(), .identity = issue({}).files});
    EXPECT_EQ(meet(stranger, strict).server, tls_errc::self_signed);
    auto const alice = issue({.common_name = "alice", .names = ""}, &authority());
    auto both = test::quiet_pair(tls_context::client({.roots_file = test::roots(), .identity = alice.files}), strict);
    auto const seen = test::shake_hands(both);
    EXPECT_FALSE(seen.client);
    EXPECT_FALSE(seen.server);
    EXPECT_EQ(both.server.peer_name(), "alice");
  });
}

TEST(tls_verify, TLS_the_server_chooses_the_protocol_by_its_own_order) {
  run_at(2, [] {
    auto const server = tls_context::server({.identities = {good_papers().files}, .protocols = {"h2", "http/1.1"}});
    auto const agree_on = [&](std::vector<std::string> const& offered) {
      auto both = test::quiet_pair(tls_context::client({.roots_file = test::roots(), .protocols = offered}), server);
      auto const seen = test::shake_hands(both);
      if (seen.client || seen.server) return "refused: " + seen.client.message();
      EXPECT_EQ(both.client.protocol(), both.server.protocol());
      return both.client.protocol();
    };
    EXPECT_EQ(agree_on({"http/1.1", "h2"}), "h2");
    EXPECT_EQ(agree_on({"http/1.1"}), "http/1.1");
    EXPECT_EQ(agree_on({}), "");
    EXPECT_NE(agree_on({"spdy"}).find("no application protocol"), std::string::npos) << agree_on({"spdy"});
    std::error_code error;
    static_cast<void>(tls_context::client({.roots_file = test::roots(), .protocols = {""}}, error));
    EXPECT_EQ(error, tls_errc::bad_protocol_name);
  });
}

TEST(tls_verify, TLS_a_server_that_speaks_no_alpn_ignores_it) {
  run_at(2, [] {
    auto both =
        test::ready_pair(tls_context::client({.roots_file = test::roots(), .protocols = {"h2"}}), good_server());
    EXPECT_EQ(both.client.protocol(), "");
  });
}

TEST(tls_verify, TLS_the_certificate_is_chosen_by_the_name_that_the_client_sends) {
  run_at(2, [] {
    auto const a = issue({.common_name = "a", .names = "DNS:a.example"}, &authority());
    auto const b =
        issue({.common_name = "b", .names = "DNS:b.example,DNS:*.b.example", .key = "ED25519"}, &authority());
    auto const server = tls_context::server({.identities = {a.files, b.files}});
    auto const client = good_client();
    auto const shown_to = [&](std::string_view host) {
      auto both = test::quiet_pair(client, server, host);
      auto const seen = test::shake_hands(both);
      if (seen.client) return std::string(seen.client == tls_errc::wrong_host ? "another's" : seen.client.message());
      EXPECT_EQ(both.server.server_name(), host);
      return both.client.peer_name();
    };
    EXPECT_EQ(shown_to("a.example"), "a");
    EXPECT_EQ(shown_to("b.example"), "b");
    EXPECT_EQ(shown_to("www.b.example"), "b");
    EXPECT_EQ(shown_to("c.example"), "another's");  // the first
    auto nameless = issue({.common_name = "", .names = "DNS:first.example,DNS:second.example"}, &authority());
    auto both = test::quiet_pair(client, server_with(nameless.files), "second.example");
    EXPECT_FALSE(test::shake_hands(both).client);
    EXPECT_EQ(both.client.peer_name(), "first.example");
  });
}

TEST(tls_verify, TLS_contexts_say_what_is_wrong_with_their_files) {
  std::error_code error;
  static_cast<void>(tls_context::client({.roots_file = "/there/is/no/such.pem"}, error));
  EXPECT_EQ(error, std::errc::no_such_file_or_directory) << error.message();
  static_cast<void>(tls_context::server({}, error));
  EXPECT_EQ(error, tls_errc::no_identity);
  auto const mine = good_papers().files;
  static_cast<void>(tls_context::server({.identities = {{mine.key_file, mine.key_file}}}, error));
  EXPECT_EQ(error.category(), tls_category());
  EXPECT_NE(error.message().find("no start line"), std::string::npos) << error.message();
  auto const other = issue({}, &authority()).files;
  static_cast<void>(tls_context::server({.identities = {{mine.chain_file, other.key_file}}}, error));
  EXPECT_NE(error.message().find("key values mismatch"), std::string::npos) << error.message();
  EXPECT_THROW(tls_context::server({.identities = {{mine.chain_file, "/no/such.key"}}}), std::system_error);
  std::string const locked = test::write_pem(".key", [](BIO* to) {
    return PEM_write_bio_PKCS8PrivateKey(to, good_papers().key.get(), EVP_aes_256_cbc(), "secret", 6, nullptr, nullptr);
  });
  static_cast<void>(tls_context::server({.identities = {{mine.chain_file, locked}}}, error));  // and does not ask
  EXPECT_TRUE(error);
  run_at(1, [&] {
    auto ends = unix_conn::pair();
    static_cast<void>(tls_stream::server(std::move(ends.first), good_client(), error));
    EXPECT_EQ(error, tls_errc::wrong_role);
    static_cast<void>(tls_stream::server(std::move(ends.second), tls_context(), error));
    EXPECT_EQ(error, tls_errc::wrong_role);
  });
}

TEST(tls_verify, TLS_a_chain_is_shown_whole) {
  run_at(2, [] {
    auto const middle = issue({.common_name = "middle", .names = "", .is_authority = true}, &authority());
    auto leaf = issue({}, &middle);
    std::string const chain = test::write_pem(".pem", [&](BIO* to) {
      return PEM_write_bio_X509(to, leaf.certificate.get()) & PEM_write_bio_X509(to, middle.certificate.get());
    });
    EXPECT_FALSE(meet(good_client(), server_with({chain, leaf.files.key_file})).client);
    EXPECT_EQ(meet(good_client(), server_with(leaf.files)).client, tls_errc::unknown_authority);
  });
}

}  // namespace
}  // namespace thrum
