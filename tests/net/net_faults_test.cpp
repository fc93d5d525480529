// Faults of the network and the kernel: no descriptors left, resets, peers that have gone or are slow, and calls that
// fail.
#include "os/fault.h"
#include "support/descriptors.h"
#include "support/fatal.h"
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/sockets.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <array>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using rt::os::call;
using rt::os::clear_faults;
using rt::os::inject_fault;
using test::open_descriptors;
using test::scaled;

class net_faults : public test::at_every_width {
 protected:
  void SetUp() override { clear_faults(); }
  void TearDown() override { clear_faults(); }
};

// Closing with this sends a reset.
void reset_on_close(basic_socket const& conn) {
  linger const at_once{1, 0};
  ASSERT_EQ(::setsockopt(conn.native_handle(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once), 0);
}

TEST_P(net_faults, S25_accept_waits_while_no_descriptor_is_left_and_goes_on) {
  run([] {
    auto listener = tcp_listener::listen("127.0.0.1:0");
    auto conn = tcp_conn::dial(listener.local_endpoint());
    for (int const error : {EMFILE, ENFILE, ENOBUFS, ENOMEM}) {
      inject_fault(call::accept, error, 0, 3);
      auto peer = listener.accept();
      EXPECT_TRUE(peer.is_open());
      conn = tcp_conn::dial(listener.local_endpoint());
    }
    inject_fault(call::accept, ECONNABORTED, 0, 3);
    EXPECT_TRUE(listener.accept().is_open());
    inject_fault(call::accept, EMFILE, 0, rt::os::fault_for_good);
    listener.set_deadline(20ms);
    std::error_code error;
    EXPECT_FALSE(listener.accept(error).is_open());
    EXPECT_EQ(error, std::errc::timed_out);
  });
}

// In a process of its own, in which the message has not been printed.
class net_faults_in_a_child : public test::fatal_test {};

TEST_F(net_faults_in_a_child, S25_that_no_descriptor_is_left_is_said_once) {
  auto const accept_with_faults = [] {
    auto listener = tcp_listener::listen("127.0.0.1:0");
    for (int const error : {EMFILE, ENOMEM}) {
      inject_fault(call::accept, error, 0, 3);
      auto conn = tcp_conn::dial(listener.local_endpoint());
      static_cast<void>(listener.accept());
    }
  };
  EXPECT_EXIT(::_exit(thrum::run(accept_with_faults)), testing::ExitedWithCode(0),
              "^thrum: accept failed with errno 24, [^\n]*\n$");
}

TEST_P(net_faults, S25_with_a_real_limit_of_descriptors_the_waiting_peer_is_served_when_one_is_free) {
  if (rt::with_asan) GTEST_SKIP() << "UBSan, which is with it, needs a descriptor of its own to look at an object";
  run([] {
    auto listener = tcp_listener::listen("127.0.0.1:0");
    auto conn = tcp_conn::dial(listener.local_endpoint());
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    int const next = ::dup(0);
    ::close(next);
    rlimit few = before;
    few.rlim_cur = static_cast<rlim_t>(next);
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
    auto acceptor = spawn([&] { return listener.accept().is_open(); });
    static_cast<void>(acceptor.join_for(5ms));  // true if sysmon has closed one of its files just then
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_TRUE(acceptor.join());
  });
}

TEST_P(net_faults, S25_without_memory_or_descriptors_opening_fails_and_leaves_nothing_behind) {
  run([] {
    std::error_code error;
    int const open_before = open_descriptors();
    inject_fault(call::epoll_ctl, ENOMEM);
    EXPECT_FALSE(tcp_listener::listen("127.0.0.1:0", {}, error).is_open());
    EXPECT_EQ(error, std::errc::not_enough_memory);
    inject_fault(call::socket, EMFILE, 0, 2);
    EXPECT_FALSE(tcp_conn::dial("127.0.0.1:1", error).is_open());
    EXPECT_EQ(error, std::errc::too_many_files_open);
    EXPECT_FALSE(udp_socket::bind("127.0.0.1:0", error).is_open());
    EXPECT_EQ(error, std::errc::too_many_files_open);
    inject_fault(call::epoll_ctl, ENOSPC);
    int ends[2]{};
    ASSERT_EQ(::pipe(ends), 0);
    fd const failed(ends[0], error);
    EXPECT_EQ(error, std::errc::no_buffer_space);
    EXPECT_NE(::fcntl(ends[0], F_GETFD), -1) << "it stays the caller's";
    ::close(ends[0]);
    ::close(ends[1]);
    EXPECT_EQ(open_descriptors(), open_before);
  });
}

TEST_P(net_faults, S25_a_unix_socket_that_could_not_be_opened_leaves_no_file) {
  run([] {
    std::string const path = "/tmp/thrum_faults_" + std::to_string(::getpid());
    std::error_code error;
    inject_fault(call::epoll_ctl, ENOMEM);
    EXPECT_FALSE(unix_listener::listen(path, unix_type::stream, error).is_open());
    EXPECT_EQ(error, std::errc::not_enough_memory);
    EXPECT_NE(::access(path.c_str(), F_OK), 0);
    EXPECT_TRUE(unix_listener::listen(path).is_open());
  });
}

TEST_P(net_faults, S25_interrupted_calls_are_repeated) {
  run([] {
    auto ab = test::socket_pair();
    fd& a = ab.a;
    fd& b = ab.b;
    auto other = spawn([&b] { test::answer_all(b); });
    inject_fault(call::receive, EINTR, 1, 3);
    inject_fault(call::send, EINTR, 1, 3);
    inject_fault(call::epoll_wait, EINTR, 0, 3);
    for (int i = 0; i < 20; ++i) test::ask(a);
    a.close();
    other.join();
  });
}

TEST_P(net_faults, S25_a_reset_is_an_error_for_reader_and_writer) {
  run([] {
    auto listener = tcp_listener::listen("127.0.0.1:0");
    for (std::int64_t round = scaled(50, 5); round > 0; --round) {
      auto conn = tcp_conn::dial(listener.local_endpoint());
      auto peer = listener.accept();
      auto reader = spawn([&] {
        std::error_code error;
        std::array<char, 16> bytes{};
        while (conn.read_some(bytes, error) != 0) {
        }
        return error;
      });
      if (round % 2 == 0) {
        EXPECT_TRUE(test::wait_until([] { return test::waiting_for(rt::wait_reason::io) == 1; }));
      }
      reset_on_close(peer);
      peer.close();
      EXPECT_EQ(reader.join(), std::errc::connection_reset);
      std::error_code error;
      static_cast<void>(conn.write_all("x", error));
      EXPECT_EQ(error, std::errc::broken_pipe);
    }
  });
}

TEST_P(net_faults, S25_a_peer_that_is_silent_times_out_and_others_go_on) {
  run([] {
    auto listener = tcp_listener::listen("127.0.0.1:0");
    auto silent = tcp_conn::dial(listener.local_endpoint());
    auto waits = listener.accept();
    auto conn = tcp_conn::dial(listener.local_endpoint());
    auto peer = listener.accept();
    auto other = spawn([&] { test::answer_all(peer); });
    waits.set_read_deadline(30ms);
    auto reader = spawn([&] {
      std::error_code error;
      std::array<char, 16> bytes{};
      static_cast<void>(waits.read_some(bytes, error));
      return error;
    });
    for (int i = 0; i < 100; ++i) test::ask(conn);
    EXPECT_EQ(reader.join(), std::errc::timed_out);
    conn.close();
    other.join();
  });
}

// If asked to, the kernel gives up a peer that takes no data for a certain time. No end of the stream and no reset has
// come, and no deadline is set.
TEST_P(net_faults, S25_a_peer_that_the_kernel_gives_up_is_an_error_for_all_waiters) {
  run([] {
    auto listener = tcp_listener::listen("127.0.0.1:0");
    auto conn = tcp_conn::dial(listener.local_endpoint());
    auto const peer = listener.accept();
    unsigned const patience_ms = 100;
    ASSERT_EQ(::setsockopt(conn.native_handle(), IPPROTO_TCP, TCP_USER_TIMEOUT, &patience_ms, sizeof patience_ms), 0);
    auto reader = spawn([&] {
      std::error_code error;
      char byte = 0;
      EXPECT_EQ(conn.read_some({&byte, 1}, error), 0U);
      return error;
    });
    std::vector<char> const much(1 << 20);
    std::error_code written;
    while (!written) static_cast<void>(conn.write_all(much, written));
    std::error_code const read = reader.join();
    // The first of them is told so; for the other the connection has ended.
    EXPECT_TRUE(written == std::errc::timed_out || written == std::errc::broken_pipe) << written.message();
    EXPECT_TRUE(!read || read == std::errc::timed_out) << read.message();
    EXPECT_TRUE(written == std::errc::timed_out || read == std::errc::timed_out);
  });
}

TEST_P(net_faults, S25_a_slow_reader_makes_only_its_writer_wait) {
  run([] {
    auto ab = test::socket_pair();
    fd& a = ab.a;
    fd& b = ab.b;
    auto cd = test::socket_pair();
    fd& c = cd.a;
    fd& d = cd.b;
    std::vector<char> const much(4 << 20);
    auto writer = spawn([&a, &much] { return a.write_all(much); });
    auto other = spawn([&d] { test::answer_all(d); });
    std::array<char, 1024> bytes{};
    std::size_t got = 0;
    while (got < much.size()) {
      if (got < 100 * bytes.size()) test::ask(c);
      got += b.read_some(bytes);
    }
    EXPECT_EQ(writer.join(), much.size());
    c.close();
    other.join();
  });
}

// NE-19: SIGPIPE has its default action here, which is death.
TEST_P(net_faults, NE19_a_broken_pipe_is_an_error_twenty_times_of_twenty) {
  run([] {
    for (int i = 0; i < 20; ++i) {
      auto ab = i % 2 == 0 ? test::pipe_pair() : test::socket_pair();
      fd& a = ab.a;
      fd& b = ab.b;
      a.close();
      std::error_code error;
      static_cast<void>(b.write_all("x", error));
      EXPECT_EQ(error, std::errc::broken_pipe);
      std::array<const_buffer, 2> const parts{"x", "y"};
      static_cast<void>(b.write_all(parts, error));
      EXPECT_EQ(error, std::errc::broken_pipe);
    }
  });
}

// A handler without SA_RESTART, and a storm of its signal on every thread that takes it.
TEST_P(net_faults, NE19_a_storm_of_signals_without_restart_changes_nothing) {
  struct sigaction mine {};
  mine.sa_handler = [](int) {};
  mine.sa_flags = SA_ONSTACK;
  struct sigaction before {};
  ASSERT_EQ(::sigaction(SIGWINCH, &mine, &before), 0);
  run([] {
    std::atomic<bool> done{false};
    std::thread storm([&] {
      while (!done) {
        ::kill(::getpid(), SIGWINCH);
        std::this_thread::yield();
      }
    });
    wait_group all;
    for (int i = 0; i < 4; ++i) {
      all.go([&] {
        auto listener = tcp_listener::listen("127.0.0.1:0");
        auto conn = tcp_conn::dial(listener.local_endpoint());
        auto peer = listener.accept();
        auto other = spawn([&] { test::answer_all(peer); });
        for (std::int64_t round = scaled(500, 50); round > 0; --round) test::ask(conn);
        conn.close();
        other.join();
      });
    }
    all.wait();
    done = true;
    blocking([&] { storm.join(); });
  });
  ASSERT_EQ(::sigaction(SIGWINCH, &before, nullptr), 0);
}

THRUM_AT_EVERY_WIDTH(net_faults);

}  // namespace
}  // namespace thrum
