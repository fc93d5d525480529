// Messages of the handshake protocol that come later: key updates, tickets.
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/wait_until.h"
#include "tls/half_a_ticket.h"
#include "tls/streams.h"

#include <array>
#include <chrono>
#include <string>

#include <gtest/gtest.h>
#include <openssl/ssl.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using test::half_a_ticket;
using test::scaled;
using test::wait_until;

class tls_messages : public test::at_every_width {};
THRUM_AT_WIDTHS(tls_messages, 1, 2, 8);

TEST_P(tls_messages, TLS_keys_are_updated_whichever_side_asks_and_a_read_answers) {
  run([] {
    test::tls_pair both = test::ready_pair();
    std::array<char, 4> bytes{};
    for (int round = 0; round < 20; ++round) {
      tls_stream& from = round % 3 == 0 ? both.server : both.client;
      tls_stream& to = round % 3 == 0 ? both.client : both.server;
      EXPECT_EQ(SSL_key_update(from.native_handle(), SSL_KEY_UPDATE_REQUESTED), 1);
      from.write_all("ping");
      ASSERT_EQ(to.read_full(bytes), 4U);
      to.write_all("pong");
      ASSERT_EQ(from.read_full(bytes), 4U);
    }
    EXPECT_EQ(SSL_get_key_update_type(both.client.native_handle()), SSL_KEY_UPDATE_NONE);
  });
}

TEST_P(tls_messages, TLS_keys_are_updated_while_both_sides_read_and_write) {
  run([] {
    test::tls_pair both = test::ready_pair();
    auto const rounds = scaled(200, 40);
    constexpr std::size_t length = 3'000;
    auto const exchange = [&](tls_stream& over) {
      auto writer = spawn([&] {
        for (std::int64_t i = 0; i < rounds; ++i) over.write_all(std::string(length, static_cast<char>('a' + i % 26)));
        over.shutdown();
      });
      std::string got(length, '\0');
      std::int64_t i = 0;
      for (; over.read_full(got) == length; ++i) EXPECT_EQ(got, std::string(length, static_cast<char>('a' + i % 26)));
      EXPECT_EQ(i, rounds);
      writer.join();
    };
    // Asked for now, sent with the next write of the peer; each read that sees one answers.
    EXPECT_EQ(SSL_key_update(both.client.native_handle(), SSL_KEY_UPDATE_REQUESTED), 1);
    EXPECT_EQ(SSL_key_update(both.server.native_handle(), SSL_KEY_UPDATE_REQUESTED), 1);
    auto server = spawn([&] { exchange(both.server); });
    exchange(both.client);
    server.join();
  });
}

// In TLS 1.2 a client could ask for it in the middle of everything.
TEST_P(tls_messages, TLS_renegotiation_is_refused) {
  run([] {
    test::tls_pair both = test::quiet_pair(test::good_client(), test::good_server());
    SSL* const ssl = both.client.native_handle();
    EXPECT_EQ(SSL_set_max_proto_version(ssl, TLS1_2_VERSION), 1);
    EXPECT_FALSE(test::shake_hands(both).client);
    EXPECT_EQ(both.client.version(), "TLSv1.2");
    auto server = spawn([&] { return test::answer_all(both.server); });
    SSL_clear_options(ssl, SSL_OP_NO_RENEGOTIATION);
    EXPECT_EQ(SSL_renegotiate(ssl), 1);
    std::error_code error;
    EXPECT_EQ(both.client.write_all("again?", error), 0U);
    EXPECT_NE(error.message().find("no renegotiation"), std::string::npos) << error.message();
    both.client.close();
    static_cast<void>(server.join());
  });
}

auto write_in_background(tls_stream& over) {
  return spawn([&over] {
    std::error_code error;
    over.write_all("from the client", error);
    return error;
  });
}

// The gate for what goes up waits for the client's bytes, too.
bool so_many_wait_beside_the_gate(int count) {
  return wait_until([count] { return test::waiting_for(rt::wait_reason::io) == count + 1; });
}

TEST_P(tls_messages, TLS_a_write_that_needs_input_reads_it_although_the_read_deadline_is_over) {
  run([] {
    half_a_ticket scene;
    scene.client.set_write_deadline(20ms);
    EXPECT_EQ(write_in_background(scene.client).join(), std::errc::timed_out);
    scene.client.set_write_deadline(tls_stream::no_deadline);
    auto writer = write_in_background(scene.client);
    EXPECT_TRUE(so_many_wait_beside_the_gate(1));
    scene.let_the_rest_pass();
    EXPECT_FALSE(writer.join());
    std::string heard(15, '\0');
    EXPECT_EQ(scene.server.read_full(heard), heard.size());
    EXPECT_EQ(heard, "from the client");
    scene.expect_what_is_behind_it();
  });
}

TEST_P(tls_messages, TLS_a_reader_and_a_writer_that_both_need_input_end_by_their_own_deadlines) {
  run([] {
    half_a_ticket scene;
    scene.client.set_read_deadline(tls_stream::no_deadline);
    auto reader = spawn([&] { scene.expect_what_is_behind_it(); });
    EXPECT_TRUE(so_many_wait_beside_the_gate(1));
    scene.client.set_write_deadline(20ms);
    EXPECT_EQ(write_in_background(scene.client).join(), std::errc::timed_out);
    scene.client.set_write_deadline(tls_stream::no_deadline);
    auto writer = write_in_background(scene.client);
    EXPECT_TRUE(wait_until([] { return test::waiting_for(rt::wait_reason::condition_variable) == 1; }));
    scene.let_the_rest_pass();
    EXPECT_FALSE(writer.join());
    reader.join();
  });
}

TEST_P(tls_messages, TLS_shutdown_amid_a_ticket_needs_the_rest_first) {
  run([] {
    half_a_ticket scene;
    std::error_code error;
    for (int round = 0; round < 2; ++round) {
      scene.client.set_write_deadline(20ms);
      scene.client.shutdown(error);
      EXPECT_EQ(error, std::errc::timed_out) << error.message();
    }
    scene.client.set_write_deadline(tls_stream::no_deadline);
    scene.let_the_rest_pass();
    scene.client.shutdown();
    std::array<char, 1> byte{};
    EXPECT_EQ(scene.server.read_some(byte), 0U);
    EXPECT_EQ(scene.client.write_all("x", error), 0U);
    EXPECT_EQ(error, std::errc::broken_pipe);
    scene.expect_what_is_behind_it();
    scene.client.close();
  });
}

TEST_P(tls_messages, TLS_close_ends_a_writer_that_needs_input) {
  run([] {
    half_a_ticket scene;
    auto writer = write_in_background(scene.client);
    EXPECT_TRUE(so_many_wait_beside_the_gate(1));
    scene.client.close();
    EXPECT_EQ(writer.join(), std::errc::operation_canceled);
  });
}

}  // namespace
}  // namespace thrum
