// A client that has seen the beginning of a message of the handshake protocol, and waits for the rest.
#pragma once

#include "support/wait_until.h"
#include "tls/streams.h"

#include <array>
#include <atomic>
#include <chrono>
#include <string>

#include <gtest/gtest.h>
#include <openssl/ssl.h>

namespace thrum::test {

// Stands between two ends and passes records on, one by one if it must.
class record_gate {
 public:
  record_gate(unix_conn& from, unix_conn& to) : from_(from), to_(to) {}

  void pass_records() {
    std::error_code error;
    for (std::string record(5, '\0'); from_.read_full(record, error) == 5; record.resize(5)) {
      auto const at = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(record[i])); };
      record.resize(5 + at(3) * 256 + at(4));
      from_.read_full({record.data() + 5, record.size() - 5}, error);
      if (is_shut) permits.acquire();
      to_.write_all(record, error);
    }
  }

  std::atomic<bool> is_shut{false};
  semaphore permits{0};

 private:
  unix_conn& from_;
  unix_conn& to_;
};

// A ticket in many records, of which the client has seen one: until the others are there it cannot write either.
struct half_a_ticket {
  half_a_ticket() {
    auto client_side = unix_conn::pair();
    auto server_side = unix_conn::pair();
    client = tls_stream::client(std::move(client_side.first), good_client(), "localhost");
    server = tls_stream::server(std::move(server_side.first), good_server());
    at_client = std::move(client_side.second);
    at_server = std::move(server_side.second);
    all.go([this] { upwards.pass_records(); });
    all.go([this] { downwards.pass_records(); });
    tls_pair both{std::move(client), std::move(server)};
    auto const seen = shake_hands(both);
    EXPECT_FALSE(seen.client || seen.server);
    client = std::move(both.client);
    server = std::move(both.server);
    server.write_all("hello");
    std::array<char, 5> hello{};
    EXPECT_EQ(client.read_full(hello), 5U);
    downwards.is_shut = true;
    SSL* const ssl = server.native_handle();
    SSL_set_max_send_fragment(ssl, 512);
    std::string const large(4'000, 'l');
    EXPECT_EQ(SSL_SESSION_set1_ticket_appdata(SSL_get_session(ssl), large.data(), large.size()), 1);
    EXPECT_EQ(SSL_new_session_ticket(ssl), 1);
    server.write_all("behind the ticket");
    downwards.permits.release(1);
    std::error_code error;
    EXPECT_TRUE(wait_until([&] {
      client.set_read_deadline(std::chrono::milliseconds(10));
      client.read_some(hello, error);
      return SSL_in_init(client.native_handle()) != 0;
    }));
    EXPECT_EQ(error, std::errc::timed_out);
  }
  ~half_a_ticket() {
    downwards.is_shut = false;
    downwards.permits.release(100);
    client = tls_stream();
    server = tls_stream();
    all.wait();
  }
  half_a_ticket(half_a_ticket const&) = delete;
  half_a_ticket& operator=(half_a_ticket const&) = delete;

  void let_the_rest_pass() {
    downwards.is_shut = false;
    downwards.permits.release(1);  // it may be waiting
  }
  void expect_what_is_behind_it() {
    std::string text(17, '\0');
    client.set_read_deadline(tls_stream::no_deadline);
    EXPECT_EQ(client.read_full(text), text.size());
    EXPECT_EQ(text, "behind the ticket");
  }

  tls_stream client;
  tls_stream server;
  unix_conn at_client;
  unix_conn at_server;
  record_gate upwards{at_client, at_server};
  record_gate downwards{at_server, at_client};
  wait_group all;
};

}  // namespace thrum::test
