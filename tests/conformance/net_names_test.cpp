// Names that are asked for by questions of our own (net/query.h), against a name server of this test.
#include "net/query.h"
#include "os/fault.h"
#include "support/descriptors.h"
#include "support/run_at.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <netdb.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;

// Knows these, by their first letters: "two" has an address of each family, "four" one; "big" is too long for a datagram; "silent" is not
// answered, "late" not before the test says so; all others are not there.
class name_server {
 public:
  name_server() : tcp_(tcp_listener::listen("127.0.0.1:0")), udp_(udp_socket::bind(tcp_.local_endpoint().to_string())) {
    rt::set_name_servers(tcp_.local_endpoint().to_string());
    serving_.go([this] { serve_datagrams(); });
    serving_.go([this] { serve_streams(); });
  }
  ~name_server() {
    udp_.close();
    tcp_.close();
    serving_.wait();
    rt::set_name_servers("");
  }

  [[nodiscard]] int asked_by_stream() const { return asked_by_stream_; }
  [[nodiscard]] int asked_too_early() const { return asked_too_early_; }

  void answer_late_ones() {
    std::scoped_lock const hold(late_lock_);
    late_is_known_ = true;
    for (auto const& [question, from] : late_) reply(question, from);
  }

 private:
  enum class over : std::uint8_t { datagram, stream };
  static constexpr std::size_t head_bytes = 12;

  static void put16(std::string& to, unsigned value) {
    to += static_cast<char>(value >> 8U);
    to += static_cast<char>(value & 0xffU);
  }

  // Empty: silence.
  static std::string answer(std::string_view question, over how) {
    if (question.size() < head_bytes + 5) return {};
    std::size_t end = head_bytes;
    std::string const first(question.substr(head_bytes + 1, static_cast<unsigned char>(question[head_bytes])));
    while (end < question.size() && question[end] != '\0') end += 1U + static_cast<unsigned char>(question[end]);
    auto const type = static_cast<unsigned char>(question[end + 2]);
    end += 5;
    if (first == "silent") return {};
    bool const is_known = first == "two" || first == "four" || first == "big" || first == "late";
    bool const is_cut = first == "big" && how == over::datagram;
    std::string address;
    if (type == 1 && is_known) address = std::string("\x7f\0\0\x01", 4);
    if (type == 28 && first == "two") {
      address.assign(16, '\0');
      address.back() = '\x01';
    }
    bool const has_answer = !address.empty() && !is_cut;
    std::string said(question.substr(0, 2));
    put16(said, 0x8180U | (is_cut ? 0x0200U : 0U) | (is_known ? 0U : 3U));
    for (unsigned const count : {1U, has_answer ? 1U : 0U, 0U, 0U}) put16(said, count);
    said += question.substr(head_bytes, end - head_bytes);
    if (!has_answer) return said;
    for (unsigned const field : {0xc00cU, unsigned{type}, 1U, 0U, 60U, static_cast<unsigned>(address.size())}) {
      put16(said, field);
    }
    return said + address;
  }

  void serve_datagrams() {
    std::array<char, 1500> bytes{};
    endpoint from;
    std::error_code error;
    for (;;) {
      std::size_t const n = udp_.recv_from(bytes, from, error);
      if (error) return;
      std::string_view const question(bytes.data(), n);
      if (question.find("\4late") == head_bytes) {
        std::scoped_lock const hold(late_lock_);
        if (!late_is_known_) {
          late_.emplace_back(question, from);
          ++asked_too_early_;
          continue;
        }
      }
      reply(question, from);
    }
  }

  void reply(std::string_view question, endpoint const& to) {
    std::string const said = answer(question, over::datagram);
    std::error_code ignored;
    if (!said.empty()) udp_.send_to(said, to, ignored);
  }

  void serve_streams() {
    for (;;) {
      std::error_code error;
      auto conn = tcp_.accept(error);
      if (error) return;
      serving_.go([this, conn = std::move(conn)]() mutable {
        std::array<unsigned char, 2> length{};
        std::error_code broken;
        while (conn.read_full(length, broken) == length.size()) {
          std::string question(length[0] * 256U + length[1], '\0');
          conn.read_full(question, broken);
          ++asked_by_stream_;
          std::string said = answer(question, over::stream);
          std::string head;
          put16(head, static_cast<unsigned>(said.size()));
          conn.write_all(head + said, broken);
        }
      });
    }
  }

  tcp_listener tcp_;
  udp_socket udp_;
  std::atomic<int> asked_by_stream_{0};
  std::atomic<int> asked_too_early_{0};
  mutex late_lock_;
  bool late_is_known_ = false;
  std::vector<std::pair<std::string, endpoint>> late_;
  wait_group serving_;
};

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
        EXPECT_EQ(error, std::errc::no_space_on_device);
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
