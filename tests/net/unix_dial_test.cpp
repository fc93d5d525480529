// Dialling a Unix socket whose listener has no room: how long that waits, and for what.
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;

class unix_dial : public test::at_every_width {};

constexpr auto long_enough = std::chrono::nanoseconds(test::wait_limit_ns);

std::string const& name() {
  static std::string const ours = "@thrum_dial_" + std::to_string(::getpid());
  return ours;
}

// A listener that takes no more, and those that stand before it.
class full_listener {
 public:
  explicit full_listener(unix_type type) : listener_(unix_listener::listen(name(), type)) {
    constexpr int backlog = 1;
    EXPECT_EQ(::listen(listener_.native_handle(), backlog), 0) << "instead of thousands";
    std::error_code error;
    while (standing_.size() < 100) {
      auto conn = unix_conn::dial(name(), type, 0ns, error);
      if (error) break;
      standing_.push_back(std::move(conn));
    }
    EXPECT_EQ(error, std::errc::timed_out);
    EXPECT_FALSE(standing_.empty()) << "a limit that is over is none where there is room";
  }

  unix_listener* operator->() noexcept { return &listener_; }
  void accept_those_that_stand() {
    for (; !standing_.empty(); standing_.pop_back()) EXPECT_TRUE(listener_.accept().is_open());
  }
  void accept_one_that_stands() {
    EXPECT_TRUE(listener_.accept().is_open());
    standing_.pop_back();
  }

 private:
  unix_listener listener_;
  std::vector<unix_conn> standing_;
};

bool a_dialer_waits_for_room() {
  return test::wait_until([] { return test::waiting_for(rt::wait_reason::sleep) == 1; });
}

template <class F>
std::error_code thrown_by(F dials) {
  try {
    dials();
  } catch (std::system_error const& e) {
    return e.code();
  }
  return {};
}

TEST_P(unix_dial, NE08_without_room_it_times_out) {
  run([] {
    for (auto const type : {unix_type::stream, unix_type::seqpacket}) {
      full_listener const full(type);
      auto const begin = clock::now();
      std::error_code error;
      EXPECT_FALSE(unix_conn::dial(name(), type, 50ms, error).is_open());
      EXPECT_EQ(error, std::errc::timed_out);
      EXPECT_GE(clock::now() - begin, 50ms);
      EXPECT_LT(clock::now() - begin, long_enough);
      EXPECT_EQ(thrown_by([&] { unix_conn::dial(name(), type, 5ms); }), std::errc::timed_out);
    }
    full_listener const full(unix_type::stream);
    std::error_code error;
    EXPECT_FALSE(unix_conn::dial(name(), 5ms, error).is_open());
    EXPECT_EQ(error, std::errc::timed_out);
    EXPECT_EQ(thrown_by([] { unix_conn::dial(name(), 5ms); }), std::errc::timed_out);
  });
}

TEST_P(unix_dial, NE08_it_succeeds_when_room_is_made) {
  run([] {
    for (auto const type : {unix_type::stream, unix_type::seqpacket}) {
      for (auto const limit : {long_enough, unix_conn::no_timeout}) {
        full_listener full(type);
        auto dialler = spawn([=] { return unix_conn::dial(name(), type, limit); });
        EXPECT_TRUE(a_dialer_waits_for_room());
        EXPECT_FALSE(dialler.done());
        full.accept_one_that_stands();
        auto conn = dialler.join();
        full.accept_those_that_stand();
        auto peer = full->accept();
        conn.write_all("x");
        char byte = 0;
        EXPECT_EQ(peer.read_some({&byte, 1}), 1U);
        EXPECT_EQ(byte, 'x');
      }
    }
  });
}

TEST_P(unix_dial, NE08_a_listener_that_is_closed_or_was_never_there_is_not_waited_for) {
  run([] {
    std::optional<full_listener> full(unix_type::stream);
    auto dialler = spawn([] {
      std::error_code error;
      static_cast<void>(unix_conn::dial(name(), unix_type::stream, error));
      return error;
    });
    EXPECT_TRUE(a_dialer_waits_for_room());
    full.reset();
    EXPECT_EQ(dialler.join(), std::errc::connection_refused);
    std::error_code error;
    EXPECT_FALSE(unix_conn::dial(name(), unix_conn::no_timeout, error).is_open());
    EXPECT_EQ(error, std::errc::connection_refused);
  });
}

TEST_P(unix_dial, NE08_a_run_ends_beside_one_that_waits_and_no_dial_goes_on) {
  std::optional<full_listener> full;
  std::atomic<bool> has_come_back{false};
  run([&] {
    full.emplace(unix_type::stream);
    go([&] {
      std::error_code error;
      static_cast<void>(unix_conn::dial(name(), unix_type::stream, error));
      has_come_back = true;
    });
    EXPECT_TRUE(a_dialer_waits_for_room());
  });
  run([&] {
    full->accept_those_that_stand();
    (*full)->set_deadline(50ms);  // some times what it would pause at most
    std::error_code error;
    EXPECT_FALSE((*full)->accept(error).is_open());
    EXPECT_EQ(error, std::errc::timed_out);
    full.reset();
  });
  EXPECT_FALSE(has_come_back);
}

THRUM_AT_EVERY_WIDTH(unix_dial);

}  // namespace
}  // namespace thrum
