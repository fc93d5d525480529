// Connections that open, talk, are closed and time out at random, beside slow and silent ones and injected faults.
// Nothing hangs, no answer is wrong or short, no error comes without a cause, and afterwards no descriptor, goroutine,
// waiter or memory is left.
#include "base/random.h"
#include "os/clock.h"
#include "os/fault.h"
#include "support/descriptors.h"
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/seed.h"
#include "support/sockets.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <errno.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace thrum::test {
namespace {

using namespace std::chrono_literals;
using rt::os::call;

class net_soak : public at_every_width {};

std::uint32_t at_most(rt::random_source& random, std::uint32_t limit) {
  return static_cast<std::uint32_t>(random.next() % (limit + 1));
}

// What the server has done to a connection, as the client finds it by its own port: the last one that came from there.
class connections {
 public:
  using given_up = std::shared_ptr<std::atomic<bool>>;

  given_up add(endpoint const& client) {
    auto made = std::make_shared<std::atomic<bool>>(false);
    std::scoped_lock const hold(lock_);
    of_port_[client.port()] = made;
    return made;
  }
  [[nodiscard]] bool was_given_up(endpoint const& client) {
    std::scoped_lock const hold(lock_);
    auto const found = of_port_.find(client.port());
    return found != of_port_.end() && *found->second;
  }

 private:
  mutex lock_;
  std::map<std::uint16_t, given_up> of_port_;
};

struct tally {
  connections served;
  std::atomic<std::int64_t> answered{0};
  std::atomic<std::int64_t> failed{0};  // with an error that has a cause in this test
  std::atomic<std::int64_t> wrong{0};

  void note_unexpected(std::string what) {
    std::scoped_lock const hold(lock_);
    if (unexpected_.size() < 10) unexpected_.push_back(std::move(what));
  }
  [[nodiscard]] std::vector<std::string> const& unexpected() const { return unexpected_; }

 private:
  mutex lock_;
  std::vector<std::string> unexpected_;
};

// The life of one connection, on the client's side. If it ends early there must be a cause: the client itself, a fault
// that was injected here, or a fault that made the server give up.
class life {
 public:
  life(endpoint const& server, rt::random_source random, tally& counts) : random_(random), counts_(counts) {
    std::error_code error;
    conn_ = tcp_conn::dial(server, tcp_conn::no_timeout, error);
    if (error) {
      ended_by("dial", error, error == std::errc::connection_refused);
      return;
    }
    here_ = conn_.local_endpoint();
    if (at_most(random_, 20) == 0) {
      sleep_for(std::chrono::microseconds(at_most(random_, 3'000)));  // never says a word
      return;
    }
    reads_slowly_ = at_most(random_, 20) == 0;
    for (std::uint32_t rounds = at_most(random_, 20); rounds > 0; --rounds) {
      if (!talk(static_cast<char>('a' + rounds))) return;
    }
  }

 private:
  [[nodiscard]] bool talk(char letter) {
    std::string const said(1 + at_most(random_, 3'000), letter);
    do_something();
    std::error_code error;
    conn_.write_all(said, error);
    if (error) return ended_by("write", error, is_caused(error));
    std::string heard(said.size(), '\0');
    std::size_t const n = reads_slowly_ ? read_slowly(heard, error) : conn_.read_full(heard, error);
    if (error && error != io_errc::unexpected_end) return ended_by("read", error, is_caused(error));
    if (n < said.size()) return ended_by("read", std::make_error_code(std::errc::no_message), was_given_up());
    counts_.wrong += heard != said;
    ++counts_.answered;
    return true;
  }

  void do_something() {
    std::error_code ignored;
    switch (at_most(random_, 15)) {
      case 0:
        conn_.set_deadline(std::chrono::microseconds(at_most(random_, 200)), ignored);
        has_deadline_ = true;
        break;
      case 1:
        conn_.close(ignored);
        is_closed_ = true;
        break;
      case 2:
        go([descriptor = ::dup(conn_.native_handle())] { fd(descriptor).close(); });
        break;  // another one's end of it
      case 3:
        conn_.shutdown_write(ignored);
        is_shut_ = true;
        break;
      default:
        conn_.set_deadline(fd::no_deadline, ignored);
        has_deadline_ = false;
        break;
    }
  }

  std::size_t read_slowly(std::string& to, std::error_code& error) {
    std::size_t got = 0;
    while (got < to.size()) {
      std::size_t const n = conn_.read_some({to.data() + got, std::min<std::size_t>(to.size() - got, 100)}, error);
      if (n == 0) break;
      got += n;
      yield();
    }
    return got;
  }

  [[nodiscard]] bool was_given_up() const { return counts_.served.was_given_up(here_); }
  [[nodiscard]] bool is_caused(std::error_code const& error) const {
    if (error == std::errc::timed_out) return has_deadline_;
    if (error == std::errc::operation_canceled) return is_closed_;
    if (error == std::errc::broken_pipe) return is_shut_ || was_given_up();
    return error == std::errc::connection_reset;  // injected
  }
  bool ended_by(char const* call, std::error_code const& error, bool caused) {
    ++counts_.failed;
    if (!caused) counts_.note_unexpected(std::string(call) + ": " + error.message());
    return false;
  }

  rt::random_source random_;
  tally& counts_;
  tcp_conn conn_;
  endpoint here_;
  bool reads_slowly_ = false;
  bool has_deadline_ = false;
  bool is_closed_ = false;
  bool is_shut_ = false;
};

// Answers until the client ends, or an error does.
void serve(tcp_conn conn, connections& all) {
  std::error_code gone;
  auto const client = conn.remote_endpoint(gone);
  if (gone) return;  // it had reset the connection before it was accepted
  auto const given_up = all.add(client);
  std::array<char, 1024> bytes{};
  std::error_code error;
  while (auto const n = conn.read_some(bytes, error)) {
    conn.write_all({bytes.data(), n}, error);
    if (error) break;
  }
  *given_up = static_cast<bool>(error);  // before the client sees the end
}

std::int64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::int64_t all = 0;
  std::int64_t resident = 0;
  statm >> all >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

void disturb(rt::random_source& random) {
  switch (at_most(random, 5)) {
    case 0: rt::os::inject_fault(call::receive, EINTR, at_most(random, 100), 2); break;
    case 1: rt::os::inject_fault(call::send, EINTR, at_most(random, 100), 2); break;
    case 2: rt::os::inject_fault(call::accept, EMFILE, at_most(random, 10), 1); break;
    case 3: rt::os::inject_fault(call::epoll_wait, EINTR, at_most(random, 10), 2); break;
    case 4: rt::os::inject_fault(call::receive, ECONNRESET, at_most(random, 200), 1); break;
    default: rt::os::inject_fault(call::connect, ECONNREFUSED, at_most(random, 20), 1); break;
  }
}

TEST_P(net_soak, S25_nothing_is_lost_in_a_random_life) {
  std::uint64_t const seed = test_seed();
  auto const for_ns = is_long() ? 600'000'000'000 : scaled(3'000'000'000, 300'000'000);
  tally counts;
  run([&] {
    {
      auto ab = socket_pair();  // the poller is open
    }
    int const before = open_descriptors();
    auto listener = tcp_listener::listen("127.0.0.1:0");
    auto const at = listener.local_endpoint();
    wait_group serving;
    auto acceptor = spawn([&] {
      for (;;) {
        std::error_code error;
        auto conn = listener.accept(error);
        if (error) return error;
        serving.go([&, conn = std::move(conn)]() mutable { serve(std::move(conn), counts.served); });
      }
    });
    std::int64_t const begin_ns = rt::os::monotonic_ns();
    std::int64_t const until_ns = begin_ns + for_ns;
    wait_group asking;
    for (std::uint64_t i = 0; i < 32; ++i) {
      asking.go([&, i] {
        for (std::uint64_t n = 0; rt::os::monotonic_ns() < until_ns; ++n) {
          life const one(at, nth_random(seed, i * 1'000'003 + n), counts);
        }
      });
    }
    rt::random_source random = nth_random(seed, 77);
    std::int64_t warm_bytes = 0;
    while (rt::os::monotonic_ns() < until_ns) {
      disturb(random);
      sleep_for(1ms);
      if (warm_bytes == 0 && rt::os::monotonic_ns() > begin_ns + for_ns / 4) warm_bytes = resident_bytes();
    }
    rt::os::clear_faults();
    asking.wait();
    listener.close();
    EXPECT_EQ(acceptor.join(), std::errc::operation_canceled);
    serving.wait();
    EXPECT_EQ(this_sched().poll.waiters(), 0);
    EXPECT_TRUE(wait_until([] { return num_goroutines() == 1; }));
    EXPECT_EQ(open_descriptors(), before);
    // A sanitizer keeps what was freed for a while.
    if (!rt::with_asan && !rt::with_tsan) {
      EXPECT_LT(resident_bytes() - warm_bytes, 64 << 20);
    }
  });
  EXPECT_EQ(counts.unexpected(), std::vector<std::string>());
  EXPECT_EQ(counts.wrong, 0);
  EXPECT_GT(counts.answered, 0);
}

THRUM_AT_EVERY_WIDTH(net_soak);

}  // namespace
}  // namespace thrum::test
