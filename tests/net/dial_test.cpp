// Dialling a name that has an address of each family (RFC 8305, in Go's reading), and IPv6 at all.
#include "net/query.h"
#include "support/descriptors.h"
#include "support/goroutines.h"
#include "support/name_server.h"
#include "support/run_at.h"
#include "support/sockets.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <system_error>
#include <vector>

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using test::open_descriptors;
using test::wait_until;

constexpr auto head_start = 300ms;

class net_ipv6 : public test::at_every_width {
 protected:
  void SetUp() override {
    std::error_code error;
    static_cast<void>(tcp_listener::listen("[::1]:0", {}, error));
    if (error) GTEST_SKIP() << "no IPv6 loopback on this machine: " << error.message();
  }
};

TEST_P(net_ipv6, NE_streams_go_over_ipv6_as_over_ipv4) {
  run([] {
    auto listener = tcp_listener::listen("[::1]:0");
    EXPECT_TRUE(listener.local_endpoint().is_v6());
    auto const port = std::to_string(listener.local_endpoint().port());
    auto conn = tcp_conn::dial("[::1]:" + port);
    auto peer = listener.accept();
    EXPECT_EQ(conn.remote_endpoint(), listener.local_endpoint());
    EXPECT_EQ(peer.remote_endpoint(), conn.local_endpoint());
    EXPECT_EQ(conn.remote_endpoint().to_string(), "[::1]:" + port);
    auto other = spawn([&] { test::answer_all(peer); });
    for (int i = 0; i < 10; ++i) test::ask(conn);
    conn.close();
    other.join();
  });
}

TEST_P(net_ipv6, NE_a_listener_on_all_addresses_is_found_by_both_families) {
  run([] {
    auto listener = tcp_listener::listen(":0");
    auto const port = std::to_string(listener.local_endpoint().port());
    for (char const* const host : {"127.0.0.1:", "[::1]:"}) {
      auto conn = tcp_conn::dial(host + port);
      auto peer = listener.accept();
      EXPECT_EQ(peer.remote_endpoint().port(), conn.local_endpoint().port());
    }
  });
}

THRUM_AT_EVERY_WIDTH(net_ipv6);

// One port at both addresses of the host two.test. A silent address has a listener whose backlog is full, so the kernel
// does not answer further connection attempts.
class two_addresses {
 public:
  enum class is : std::uint8_t { listening, silent, refusing };

  two_addresses(is v6, is v4) {
    // A port that is free at one address may be in use at the other. The ports that the kernel chooses may all be in
    // use for a minute after many connections were closed, so this takes a port below them.
    for (int tries = 0; tries < 1000 && (!v6_.is_open() || !v4_.is_open()); ++tries) {
      port_ = std::to_string(10'000 + (::getpid() * 31 + tries) % 20'000);
      std::error_code taken;
      v6_ = tcp_listener::listen("[::1]:" + port_, {.backlog = 1}, taken);
      if (!taken) v4_ = tcp_listener::listen("127.0.0.1:" + port_, {.backlog = 1}, taken);
    }
    EXPECT_TRUE(v4_.is_open());
    prepare(v6_, v6);
    prepare(v4_, v4);
  }

  [[nodiscard]] std::string name() const { return "two.test:" + port_; }
  tcp_listener& v6() { return v6_; }
  tcp_listener& v4() { return v4_; }

 private:
  void prepare(tcp_listener& one, is what) {
    if (what == is::refusing) one.close();
    if (what != is::silent) return;
    auto const at = one.local_endpoint();
    for (int i = 0; i < 2; ++i) waiting_.push_back(tcp_conn::dial(at));  // one more than the backlog: Linux's reading
    EXPECT_TRUE(wait_until([&] {
      tcp_info about{};
      socklen_t bytes = sizeof about;
      EXPECT_EQ(::getsockopt(one.native_handle(), IPPROTO_TCP, TCP_INFO, &about, &bytes), 0);
      return about.tcpi_unacked > about.tcpi_sacked;  // of a listener: its pending connections, and its backlog
    }));
  }

  std::string port_;
  tcp_listener v6_;
  tcp_listener v4_;
  std::vector<tcp_conn> waiting_;
};

using is = two_addresses::is;

class net_dial : public net_ipv6 {
 protected:
  void SetUp() override {
    net_ipv6::SetUp();
    if (IsSkipped()) return;
    if (!rt::names_can_be_queried()) GTEST_SKIP() << "no c-ares, or /etc/nsswitch.conf asks for other sources";
  }

  // With a name server.
  template <class F>
  static void run_dials(F body) {
    run([&] {
      test::name_server const server;
      auto const found = resolve("two.test");
      ASSERT_EQ(found.size(), 2U);
      ASSERT_TRUE(found[0].is_v6()) << "the tests are written for this order, which is RFC 6724's";
      body();
    });
  }

  static void nothing_but(int before) {
    EXPECT_TRUE(wait_until([&] { return open_descriptors() == before; }))
        << open_descriptors() << " are open, not " << before;
  }
};

TEST_P(net_dial, NE_the_first_family_has_a_head_start_that_is_enough_if_it_answers) {
  run_dials([] {
    two_addresses at(is::listening, is::listening);
    int const before = open_descriptors();
    bool other_was_asked = true;
    for (int tries = 0; tries < 20 && other_was_asked; ++tries) {  // a busy machine may be slower than the head start
      auto conn = tcp_conn::dial(at.name());
      EXPECT_TRUE(conn.remote_endpoint().is_v6());
      EXPECT_TRUE(at.v6().accept().is_open());
      int const asked = ::accept4(at.v4().native_handle(), nullptr, nullptr, SOCK_CLOEXEC);
      other_was_asked = asked >= 0;
      if (other_was_asked) ::close(asked);
    }
    EXPECT_FALSE(other_was_asked);
    nothing_but(before);
  });
}

TEST_P(net_dial, NE_if_the_first_family_is_silent_the_other_one_answers_after_the_head_start) {
  run_dials([] {
    two_addresses at(is::silent, is::listening);
    int const before = open_descriptors();
    auto const begin = clock::now();
    auto conn = tcp_conn::dial(at.name(), 60s);
    auto const took = clock::now() - begin;
    EXPECT_TRUE(conn.remote_endpoint().is_v4());
    EXPECT_GE(took, head_start);
    EXPECT_LT(took, 20s) << "one after the other, it would have been 30 s";
    auto peer = at.v4().accept();
    auto other = spawn([&] { test::answer_all(peer); });
    test::ask(conn);
    conn.close();
    other.join();
    peer.close();
    nothing_but(before);
  });
}

TEST_P(net_dial, NE_if_the_first_family_is_refused_the_other_one_is_asked_at_once) {
  run_dials([] {
    two_addresses at(is::refusing, is::listening);
    int const before = open_descriptors();
    auto best = clock::duration::max();
    for (int tries = 0; tries < 20 && best >= head_start; ++tries) {
      auto const begin = clock::now();
      auto conn = tcp_conn::dial(at.name());
      best = std::min(best, clock::now() - begin);
      EXPECT_TRUE(conn.remote_endpoint().is_v4());
      EXPECT_TRUE(at.v4().accept().is_open());
    }
    EXPECT_LT(best, head_start);
    nothing_but(before);
  });
}

TEST_P(net_dial, NE_if_both_are_refused_the_error_says_so) {
  run_dials([] {
    two_addresses const at(is::refusing, is::refusing);
    int const before = open_descriptors();
    std::error_code error;
    EXPECT_FALSE(tcp_conn::dial(at.name(), error).is_open());
    EXPECT_EQ(error, std::errc::connection_refused);
    nothing_but(before);
  });
}

TEST_P(net_dial, NE_a_limit_that_ends_before_the_head_start_ends_the_dial) {
  run_dials([] {
    two_addresses const at(is::silent, is::listening);
    int const before = open_descriptors();
    auto const begin = clock::now();
    std::error_code error;
    EXPECT_FALSE(tcp_conn::dial(at.name(), 100ms, error).is_open());
    EXPECT_EQ(error, std::errc::timed_out);
    EXPECT_GE(clock::now() - begin, 100ms);
    nothing_but(before);
  });
}

TEST_P(net_dial, NE_if_both_are_silent_the_limit_ends_both) {
  run_dials([] {
    two_addresses const at(is::silent, is::silent);
    int const before = open_descriptors();
    auto const begin = clock::now();
    std::error_code error;
    EXPECT_FALSE(tcp_conn::dial(at.name(), head_start + 100ms, error).is_open());
    EXPECT_EQ(error, std::errc::timed_out);
    EXPECT_GE(clock::now() - begin, head_start + 100ms);
    nothing_but(before);
  });
}

// The kernel asks again after a second, and is heard.
TEST_P(net_dial, NE_the_first_family_may_still_win_after_its_head_start_and_the_other_is_given_up) {
  run_dials([] {
    two_addresses at(is::silent, is::silent);
    int const before = open_descriptors();
    auto dialling = spawn([&] { return tcp_conn::dial(at.name()); });
    // Two of the name server's, and both that are under way.
    EXPECT_TRUE(wait_until([] { return test::waiting_for(rt::wait_reason::io) == 4; }));
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(at.v6().accept().is_open());
    auto conn = dialling.join();
    EXPECT_TRUE(conn.remote_endpoint().is_v6());
    conn.close();
    nothing_but(before);
  });
}

THRUM_AT_EVERY_WIDTH(net_dial);

}  // namespace
}  // namespace thrum
