// The keys of session tickets: a new one every day, and an old one is accepted for a week.
#include "tls/ticket_keys.h"

#include "support/run_at.h"
#include "tls/streams.h"

#include <gtest/gtest.h>
#include <openssl/ssl.h>

namespace thrum {
namespace {

using detail::ticket_key;
using detail::ticket_keys;

constexpr std::int64_t start_ns = 1'000'000'000;

TEST(tls_ticket_keys, TLS_a_key_seals_for_a_day_and_opens_for_a_week_more) {
  ticket_keys keys;
  ticket_key first;
  ticket_key other;
  EXPECT_EQ(keys.find(first.name.data(), start_ns, other), ticket_keys::key_age::none);
  ASSERT_TRUE(keys.newest(start_ns, first));
  ASSERT_TRUE(keys.newest(start_ns + ticket_keys::day_ns - 1, other));
  EXPECT_EQ(first.name, other.name);
  EXPECT_EQ(first.cipher, other.cipher);
  EXPECT_EQ(first.mac, other.mac);
  EXPECT_EQ(keys.find(first.name.data(), start_ns + 1, other), ticket_keys::key_age::newest);

  ASSERT_TRUE(keys.newest(start_ns + ticket_keys::day_ns, other));
  EXPECT_NE(first.name, other.name);
  EXPECT_NE(first.cipher, other.cipher);
  EXPECT_NE(first.mac, other.mac);
  EXPECT_EQ(keys.find(first.name.data(), start_ns + ticket_keys::accepted_ns - 1, other), ticket_keys::key_age::older);
  EXPECT_EQ(other.cipher, first.cipher);
  EXPECT_EQ(keys.find(first.name.data(), start_ns + ticket_keys::accepted_ns, other), ticket_keys::key_age::none);
}

TEST(tls_ticket_keys, TLS_a_key_is_gone_when_its_place_was_taken) {
  ticket_keys keys;
  ticket_key first;
  ticket_key other;
  ASSERT_TRUE(keys.newest(start_ns, first));
  for (int day = 1; day <= 20; ++day) ASSERT_TRUE(keys.newest(start_ns + day * ticket_keys::day_ns, other));
  EXPECT_EQ(keys.find(first.name.data(), start_ns, other), ticket_keys::key_age::none);
}

class tls_tickets : public test::at_every_width {};
THRUM_AT_WIDTHS(tls_tickets, 1, 2, 8);

// The first bytes of a ticket are its key's name: an SSL_CTX of another server cannot open it.
TEST_P(tls_tickets, TLS_a_session_is_resumed_by_a_ticket_of_the_same_server) {
  run([] {
    for (int const version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
      tls_context const client = test::good_client();
      tls_context const server = test::good_server();
      tls_context const stranger = test::good_server();
      SSL_SESSION* session = nullptr;
      auto const is_resumed = [&](tls_context const& by) {
        auto both = test::quiet_pair(client, by);
        SSL* const ssl = both.client.native_handle();
        EXPECT_EQ(SSL_set_max_proto_version(ssl, version), 1);
        if (session != nullptr) {
          EXPECT_EQ(SSL_set_session(ssl, session), 1);
        }
        auto const seen = test::shake_hands(both);
        EXPECT_FALSE(seen.client) << seen.client.message();
        EXPECT_FALSE(seen.server) << seen.server.message();
        // In TLS 1.3 the ticket comes with the first bytes.
        char byte = 'x';
        auto writer = spawn([&] { both.server.write_all({&byte, 1}); });
        EXPECT_EQ(both.client.read_full({&byte, 1}), 1U);
        writer.join();
        bool const was = SSL_session_reused(ssl) == 1;
        SSL_SESSION_free(session);
        session = SSL_get1_session(ssl);
        SSL_set_shutdown(ssl,
                         SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);  // else OpenSSL takes the session for a broken one
        return was;
      };
      EXPECT_FALSE(is_resumed(server));
      EXPECT_TRUE(is_resumed(server)) << version;
      EXPECT_TRUE(is_resumed(server)) << version;
      EXPECT_FALSE(is_resumed(stranger)) << version;
      SSL_SESSION_free(session);
    }
  });
}

}  // namespace
}  // namespace thrum
