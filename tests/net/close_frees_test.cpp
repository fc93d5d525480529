// When close returns, the kernel has freed what the descriptor referred to, also if goroutines were waiting for the
// descriptor.
#include "support/run_at.h"
#include "support/scale.h"
#include <thrum/thrum.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

namespace thrum {
namespace {

class close_frees : public test::at_every_width {};

constexpr int waiting = 4;

// An address of this machine that other processes do not use. So no other test takes a port between its close and the
// moment when this test takes it anew. A process id has at most 22 bits.
std::string own_address() {
  auto const id = static_cast<unsigned>(::getpid());
  return "127." + std::to_string(64 + (id >> 16U & 63U)) + "." + std::to_string(id >> 8U & 255U) + "." +
         std::to_string(id & 255U);
}

// Goroutines in wait(error), all of which have begun and are about to wait, if not waiting.
template <class Wait>
void start_waiting(wait_group& all, Wait wait) {
  latch begun(waiting);
  for (int i = 0; i < waiting; ++i) {
    all.go([&, wait] {
      begun.count_down();
      std::error_code error;
      wait(error);
      EXPECT_EQ(error, std::errc::operation_canceled) << error.message();
    });
  }
  begun.wait();
  for (int i = 0; i < 3; ++i) yield();
}

TEST_P(close_frees, the_port_of_a_listener_while_goroutines_are_in_accept) {
  run([] {
    for (bool const reuse_addr : {true, false}) {
      std::string at = own_address() + ":0";
      for (std::int64_t round = 0; round < test::scaled(50, 10); ++round) {
        std::error_code error;
        auto listener = tcp_listener::listen(at, {.reuse_addr = reuse_addr}, error);
        ASSERT_FALSE(error) << error.message() << " in round " << round;
        at = listener.local_endpoint().to_string();
        wait_group all;
        start_waiting(all, [&](std::error_code& e) { static_cast<void>(listener.accept(e)); });
        listener.close();
        auto const next = tcp_listener::listen(at, {.reuse_addr = reuse_addr}, error);
        EXPECT_FALSE(error) << error.message() << " in round " << round;
        all.wait();
      }
    }
  });
}

TEST_P(close_frees, nothing_of_others_so_that_a_taken_port_is_reported) {
  run([] {
    auto const taken = tcp_listener::listen("127.0.0.1:0");
    std::atomic<bool> over{false};
    wait_group all;
    all.go([&] {  // closes sockets that are in use, one after another
      while (!over) {
        auto socket = udp_socket::bind("127.0.0.1:0");
        wait_group readers;
        start_waiting(readers, [&](std::error_code& e) {
          std::array<char, 16> bytes{};
          endpoint from;
          static_cast<void>(socket.recv_from(bytes, from, e));
        });
        socket.close();
        readers.wait();
      }
    });
    std::error_code error;
    auto const second = tcp_listener::listen(taken.local_endpoint().to_string(), {}, error);
    EXPECT_EQ(error, std::errc::address_in_use);
    over = true;
    all.wait();
  });
}

TEST_P(close_frees, the_port_of_a_datagram_socket_while_goroutines_receive) {
  run([] {
    std::string at = own_address() + ":0";
    for (std::int64_t round = 0; round < test::scaled(50, 10); ++round) {
      auto socket = udp_socket::bind(at);
      at = socket.local_endpoint().to_string();
      wait_group all;
      start_waiting(all, [&](std::error_code& e) {
        std::array<char, 16> bytes{};
        endpoint from;
        static_cast<void>(socket.recv_from(bytes, from, e));
      });
      socket.close();
      std::error_code error;
      auto const next = udp_socket::bind(at, error);
      EXPECT_FALSE(error) << error.message() << " in round " << round;
      all.wait();
    }
  });
}

TEST_P(close_frees, the_name_of_an_abstract_unix_listener_while_goroutines_are_in_accept) {
  run([] {
    std::string const at = "@thrum_close_frees_" + std::to_string(::getpid());
    for (std::int64_t round = 0; round < test::scaled(50, 10); ++round) {
      auto listener = unix_listener::listen(at);
      wait_group all;
      start_waiting(all, [&](std::error_code& e) { static_cast<void>(listener.accept(e)); });
      listener.close();
      std::error_code error;
      auto const next = unix_listener::listen(at, unix_type::stream, error);
      EXPECT_FALSE(error) << error.message() << " in round " << round;
      all.wait();
    }
  });
}

// The peer sees the end at once, too.
TEST_P(close_frees, a_connection_ends_while_goroutines_read_and_write) {
  run([] {
    auto [a, b] = unix_conn::pair();
    wait_group all;
    start_waiting(all, [&mine = a](std::error_code& e) {
      std::array<char, 16> bytes{};
      static_cast<void>(mine.read_some(bytes, e));
    });
    a.close();
    EXPECT_EQ(a.native_handle(), -1);
    std::array<char, 16> bytes{};
    EXPECT_EQ(b.read_some(bytes), 0U);
    all.wait();
  });
}

THRUM_AT_WIDTHS(close_frees, 1, 2, 8);

}  // namespace
}  // namespace thrum
