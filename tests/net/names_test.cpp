// Names that thrum looks up by queries of its own (net/query.h), against a name server that this test runs.
#include "net/query.h"
#include "os/fault.h"
#include "support/descriptors.h"
#include "support/name_server.h"
#include "support/run_at.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <algorithm>
#include <atomic>
#include <chrono>

#include <gtest/gtest.h>
#include <netdb.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using test::name_server;

TEST(name_sources, only_files_and_dns_are_plain) {
  EXPECT_TRUE(rt::sources_are_plain(""));
  EXPECT_TRUE(rt::sources_are_plain("passwd: files\nhosts: files dns\n"));
  EXPECT_TRUE(rt::sources_are_plain("hosts:\tdns # mdns4\nnetworks: nis"));
  EXPECT_TRUE(rt::sources_are_plain("  hosts: files dns "));
  EXPECT_FALSE(rt::sources_are_plain("hosts: files dns myhostname"));
  EXPECT_FALSE(rt::sources_are_plain("hosts: files mdns4_minimal [NOTFOUND=return] dns"));
  EXPECT_FALSE(rt::sources_are_plain("hosts: mymachines resolve [!UNAVAIL=return] files dns"));
}

class net_names : public test::at_every_width {
 protected:
  void SetUp() override {
    if (!rt::names_can_be_queried()) GTEST_SKIP() << "no c-ares, or /etc/nsswitch.conf asks for other sources";
  }
};

TEST_P(net_names, addresses_of_both_families_with_the_port) {
  run([] {
    name_server const server;
    auto const both = resolve("two.test", 80);
    ASSERT_EQ(both.size(), 2U);
    EXPECT_TRUE(std::all_of(both.begin(), both.end(), [](endpoint const& e) { return e.port() == 80; }));
    EXPECT_NE(both[0].is_v4(), both[1].is_v4());
    auto const one = resolve("four.test", 81);
    ASSERT_EQ(one.size(), 1U);
    EXPECT_EQ(one[0].to_string(), "127.0.0.1:81");
    EXPECT_FALSE(resolve("localhost").empty());  // from /etc/hosts
  });
}

TEST_P(net_names, names_that_are_not_there) {
  run([] {
    name_server const server;
    std::error_code error;
    EXPECT_TRUE(resolve("other.test", 80, error).empty());
    EXPECT_EQ(error, std::error_code(EAI_NONAME, resolve_category()));
    EXPECT_TRUE(resolve("a name that cannot be..", 0, error).empty());
    EXPECT_EQ(error.category(), resolve_category());
  });
}

TEST_P(net_names, an_answer_that_is_cut_is_asked_for_by_stream) {
  run([] {
    name_server const server;
    auto const found = resolve("big.test", 82);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].to_string(), "127.0.0.1:82");
    EXPECT_GE(server.asked_by_stream(), 1);
  });
}

TEST_P(net_names, the_limit_of_a_dial_covers_the_name) {
  run([] {
    name_server const server;
    auto const begin = clock::now();
    std::error_code error;
    EXPECT_FALSE(tcp_conn::dial("silent.test:80", 50ms, error).is_open());
    EXPECT_EQ(error, std::errc::timed_out);
    EXPECT_GE(clock::now() - begin, 50ms);
  });
}

TEST_P(net_names, a_limit_ends_a_question_that_is_not_answered) {
  run([] {
    name_server const server;
    auto const begin = clock::now();
    std::error_code error;
    EXPECT_TRUE(resolve("silent.test", 80, 50ms, error).empty());
    EXPECT_EQ(error, std::errc::timed_out);
    EXPECT_FALSE(udp_socket::connect("silent.test:80", 50ms, error).is_open());
    EXPECT_EQ(error, std::errc::timed_out);
    EXPECT_GE(clock::now() - begin, 100ms);
    EXPECT_THROW(static_cast<void>(resolve("silent.test", 80, 1ms)), std::system_error);
    EXPECT_THROW(static_cast<void>(udp_socket::connect("silent.test:80", 1ms)), std::system_error);
    EXPECT_EQ(resolve("two.test", 80, 1min).size(), 2U);
    EXPECT_EQ(udp_socket::connect("four.test:80", 1min).remote_endpoint().to_string(), "127.0.0.1:80");
  });
}

TEST_P(net_names, a_server_that_is_not_there_is_an_error_for_now) {
  run([] {
    auto gone = udp_socket::bind("127.0.0.1:0");
    rt::set_name_servers(gone.local_endpoint().to_string());
    gone.close();
    std::error_code error;
    EXPECT_TRUE(resolve("two.test", 80, error).empty());
    EXPECT_EQ(error, std::error_code(EAI_AGAIN, resolve_category()));
    rt::set_name_servers("");
  });
}

TEST_P(net_names, a_lookup_that_cannot_begin_leaves_no_descriptor) {
  run([] {
    name_server const server;
    int const before = test::open_descriptors();
    for (int i = 0; i < 10; ++i) {
      for (auto const call : {rt::os::call::epoll_create, rt::os::call::epoll_ctl}) {
        rt::os::inject_fault(call, ENOSPC);
        std::error_code error;
        EXPECT_TRUE(resolve("two.test", 80, error).empty());
        bool const is_watch = call == rt::os::call::epoll_ctl;  // the limit of watches: no disk is full
        EXPECT_EQ(error, is_watch ? std::errc::no_buffer_space : std::errc::no_space_on_device);
      }
    }
    rt::os::clear_faults();
    EXPECT_EQ(test::open_descriptors(), before);
    EXPECT_EQ(resolve("two.test").size(), 2U);
  });
}

TEST_P(net_names, many_at_once_cost_no_threads) {
  run([] {
    name_server server;
    constexpr int count = 80;  // questions that fit into the server's buffer at once
    wait_group all;
    std::atomic<int> answered{0};
    for (int i = 0; i < count; ++i) {
      all.go([&] {
        std::error_code error;
        static_cast<void>(tcp_conn::dial("late.test:1", error));
        EXPECT_EQ(error, std::errc::connection_refused);
        ++answered;
      });
    }
    // Each read files before it asked, on a thread of its own if the machine was slow; while they wait none keeps one.
    EXPECT_TRUE(test::wait_until([&] {
      stats const now = read_stats();
      return server.asked_too_early() >= 2 * count &&  // for both families
             now.threads - now.idle_threads <= procs() + 1;
    }));
    EXPECT_EQ(answered, 0);
    server.answer_late_ones();
    all.wait();
    EXPECT_EQ(answered, count);
  });
}

THRUM_AT_EVERY_WIDTH(net_names);

}  // namespace
}  // namespace thrum
