// Deadlines of descriptors, as Go's net package has them: rows NE-01 to NE-08.
#include "support/busy_machine.h"
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/sockets.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using test::scaled;
using test::wait_until;

class net_deadline : public test::at_every_width {};

std::error_code read_error(fd& from) {
  std::error_code error;
  std::array<char, 16> bytes{};
  std::size_t const n = from.read_some(bytes, error);
  EXPECT_TRUE(!error || n == 0) << n << " bytes beside an error";
  return error;
}

std::error_code write_error(fd& to) {
  std::error_code error;
  std::size_t const n = to.write_some("x", error);
  EXPECT_EQ(n, error ? 0U : 1U);
  return error;
}

bool io_is_waited_for() { return test::waiting_for(rt::wait_reason::io) != 0; }

// As nanoseconds it does not fit.
TEST_P(net_deadline, NE01_a_day_of_a_far_year_is_not_in_the_past) {
  using namespace std::chrono;
  run([] {
    auto ab = test::socket_pair();
    constexpr sys_days far(year(9999) / December / 31);
    ab.a.set_deadline(far);
    EXPECT_EQ(write_error(ab.a), std::error_code());
    ab.b.write_all("x");
    EXPECT_EQ(read_error(ab.a), std::error_code());
    mutex free;
    EXPECT_TRUE(free.try_lock_until(far));
    free.unlock();
    EXPECT_FALSE(detail::is_over(far));
    EXPECT_TRUE(detail::is_over(sys_days(year(-9999) / January / 1)));
    using of_no_number = time_point<steady_clock, duration<double>>;
    EXPECT_TRUE(detail::is_over(of_no_number(duration<double>(std::numeric_limits<double>::quiet_NaN()))));
  });
}

TEST_P(net_deadline, NE01_a_deadline_in_the_past_fails_calls_that_could_proceed) {
  run([] {
    auto ab = test::socket_pair();
    fd& a = ab.a;
    fd& b = ab.b;
    b.write_all("data");
    a.set_deadline(clock::now() - 1s);
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(read_error(a), std::errc::timed_out);
      EXPECT_EQ(write_error(a), std::errc::timed_out);
    }
    a.set_deadline(1h);
    std::array<char, 4> bytes{};
    EXPECT_EQ(a.read_full(bytes), 4U);
    a.set_deadline(1ms);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(read_error(a), std::errc::timed_out);
    // Each direction has a timer of its own: the other may be a moment later.
    EXPECT_TRUE(wait_until([&a] { return write_error(a) == std::errc::timed_out; }));
  });
}

TEST_P(net_deadline, NE01_a_write_that_is_stuck_ends_with_what_it_wrote) {
  run([] {
    auto ab = test::socket_pair();
    fd& a = ab.a;
    std::vector<char> const much(8 << 20);
    a.set_write_deadline(300ms);  // long enough to begin, on any machine
    std::error_code error;
    std::size_t const written = a.write_all(much, error);
    EXPECT_EQ(error, std::errc::timed_out);
    EXPECT_GT(written, 0U);
    EXPECT_LT(written, much.size());
  });
}

TEST_P(net_deadline, NE02_a_deadline_that_is_cleared_lets_calls_wait_again_and_closing_is_no_timeout) {
  run([] {
    auto ab = test::socket_pair();
    fd& a = ab.a;
    a.set_read_deadline(clock::now() - 1s);
    EXPECT_EQ(read_error(a), std::errc::timed_out);
    a.set_read_deadline(fd::no_deadline);
    auto reader = spawn([&a] { return read_error(a); });
    EXPECT_TRUE(wait_until(io_is_waited_for));
    EXPECT_FALSE(reader.join_for(100ms));
    a.close();
    EXPECT_EQ(reader.join(), std::errc::operation_canceled);
    EXPECT_EQ(read_error(a), std::errc::operation_canceled);
  });
}

TEST_P(net_deadline, NE02_the_same_for_writes) {
  run([] {
    auto ab = test::socket_pair();
    fd& a = ab.a;
    std::vector<char> const much(64 << 10);
    std::error_code full;
    a.set_write_deadline(10ms);
    while (!full) static_cast<void>(a.write_some(much, full));
    EXPECT_EQ(full, std::errc::timed_out);
    EXPECT_EQ(write_error(a), std::errc::timed_out);
    a.set_write_deadline(fd::no_deadline);
    while (::send(a.native_handle(), much.data(), 1, MSG_DONTWAIT) > 0) {
    }
    auto writer = spawn([&a] { return write_error(a); });
    EXPECT_TRUE(wait_until(io_is_waited_for));
    EXPECT_FALSE(writer.join_for(100ms));
    a.close();
    EXPECT_EQ(writer.join(), std::errc::operation_canceled);
    EXPECT_EQ(write_error(a), std::errc::operation_canceled);
  });
}

TEST_P(net_deadline, NE04_deadlines_of_all_lengths_end_in_a_timeout) {
  run([] {
    test::busy_machine const machine;
    wait_group all;
    for (auto const after :
         {1ns, 2ns, 5ns, 50ns, 100ns, 200ns, 500ns, 750ns, 1'000ns, 5'000ns, 25'000ns, 250'000ns, 500'000ns,
          5'000'000ns, 25'000'000ns, 100'000'000ns, 250'000'000ns, 500'000'000ns, 1'000'000'000ns}) {
      all.go([after] {
        auto ab = test::socket_pair();
        for (int i = 0; i < 3; ++i) {
          auto const begin = clock::now();
          ab.a.set_deadline(begin + after);
          EXPECT_EQ(read_error(ab.a), std::errc::timed_out);
          EXPECT_GE(clock::now() - begin, after);
        }
      });
    }
    all.wait();
    if (test::limits_count()) {
      EXPECT_LE(machine.time_taken(), 30s);  // three times the longest is 3 s
    }
  });
}

TEST_P(net_deadline, NE05_a_past_deadline_set_by_another_wakes_the_waiter) {
  run([] {
    auto ab = test::socket_pair();
    fd& a = ab.a;
    auto best = clock::duration::max();
    for (std::int64_t i = scaled(100, 10); i > 0; --i) {
      a.set_read_deadline(fd::no_deadline);
      auto reader = spawn([&a] {
        EXPECT_EQ(read_error(a), std::errc::timed_out);
        return clock::now();
      });
      EXPECT_TRUE(wait_until(io_is_waited_for));
      auto const set = clock::now();
      a.set_read_deadline(set - 1s);
      best = std::min(best, reader.join() - set);
    }
    if (test::limits_count()) {
      EXPECT_LE(best, 50ms);  // the best of them: the machine may be busy
    }
  });
}

TEST_P(net_deadline, NE05_a_deadline_may_be_moved_while_a_goroutine_waits) {
  run([] {
    auto ab = test::socket_pair();
    fd& a = ab.a;
    auto reader = spawn([&a] { return read_error(a); });
    EXPECT_TRUE(wait_until(io_is_waited_for));
    a.set_read_deadline(1h);
    a.set_read_deadline(2h);
    a.set_read_deadline(5ms);
    EXPECT_EQ(reader.join(), std::errc::timed_out);
  });
}

TEST_P(net_deadline, NE07_deadlines_that_move_beside_reads_and_writes_neither_hang_nor_crash) {
  run([] {
    auto listener = tcp_listener::listen("127.0.0.1:0");
    auto conn = tcp_conn::dial(listener.local_endpoint());
    auto peer = listener.accept();
    auto echo = spawn([&] {
      test::answer_all(peer);
      peer.close();
    });
    std::atomic<bool> done{false};
    auto mover = spawn([&] {
      while (!done) {
        conn.set_read_deadline(clock::now() + 2us);
        conn.set_write_deadline(clock::now() + 2us);
        yield();
      }
    });
    auto const rounds = scaled(1'000, 100);
    auto const is_timeout_or_none = [](std::error_code const& e) { return !e || e == std::errc::timed_out; };
    auto reader = spawn([&] {
      for (std::int64_t i = rounds; i > 0; --i, yield()) EXPECT_PRED1(is_timeout_or_none, read_error(conn));
    });
    auto writer = spawn([&] {
      for (std::int64_t i = rounds; i > 0; --i, yield()) EXPECT_PRED1(is_timeout_or_none, write_error(conn));
    });
    reader.join();
    writer.join();
    done = true;
    mover.join();
    conn.set_deadline(fd::no_deadline);
    conn.shutdown_write();
    std::array<char, 1024> rest{};
    while (conn.read_some(rest) != 0) {
    }
    echo.join();
  });
}

// As Go's TestRacyRead, with several readers of one flood, whose deadlines are the others' too.
TEST_P(net_deadline, NE07_a_read_that_its_deadline_ended_took_nothing_and_its_buffer_is_left_alone) {
  run([] {
    auto ab = test::socket_pair();
    std::atomic<bool> enough{false};
    auto flood = spawn([&] {
      std::string const some(64, 'x');
      std::uint64_t written = 0;
      while (!enough) {
        written += ab.b.write_some(some);
        yield();  // readers that are faster wait, and both the bytes and the deadline end that
      }
      ab.b.close();
      return written;
    });
    auto const rounds = scaled(1'000, 100);
    std::atomic<std::uint64_t> taken{0};
    std::atomic<std::int64_t> timed_out{0};
    wait_group readers;
    for (int i = 0; i < 8; ++i) {
      readers.go([&] {
        std::array<char, 256> untouched{};
        untouched.fill('?');
        // Until there was enough of both; if there never is, the watchdog says so.
        for (std::int64_t round = 0; round < rounds || timed_out < rounds || taken == 0; ++round) {
          auto mine = untouched;
          std::error_code error;
          ab.a.set_read_deadline(clock::now() + (round % 8) * 5us);
          std::size_t const n = ab.a.read_some(mine, error);
          if (!error) {
            taken += n;
            EXPECT_EQ(std::string_view(mine.data(), mine.size()),
                      std::string(n, 'x') + std::string(mine.size() - n, '?'));
            continue;
          }
          EXPECT_EQ(error, std::errc::timed_out);
          EXPECT_EQ(n, 0U);
          ++timed_out;
          for (int look = 0; look < 4; ++look) {
            EXPECT_EQ(mine, untouched);
            yield();  // what was read too late would come now
          }
        }
      });
    }
    readers.wait();
    enough = true;
    ab.a.set_read_deadline(fd::no_deadline);
    std::array<char, 4096> rest{};
    while (std::size_t const n = ab.a.read_some(rest)) taken += n;
    EXPECT_EQ(taken, flood.join());
  });
}

TEST_P(net_deadline, NE07_many_set_deadlines_of_many_connections_at_once) {
  run([] {
    std::vector<test::pair_of_fds> pairs;
    for (int i = 0; i < 10; ++i) pairs.push_back(test::socket_pair());
    wait_group all;
    for (int i = 0; i < 8; ++i) {
      all.add(1);
      go([&] {
        for (std::int64_t round = scaled(100, 10); round > 0; --round) {
          for (auto& p : pairs) p.a.set_deadline(round % 3 == 0 ? 1ns : round % 3 == 1 ? 100us : 10s);
        }
        all.done();
      });
    }
    all.wait();
    for (auto& p : pairs) {
      p.a.set_deadline(1ns);
      EXPECT_EQ(read_error(p.a), std::errc::timed_out);
    }
  });
}

TEST_P(net_deadline, NE08_accept_obeys_deadlines_also_with_a_peer_waiting) {
  run([] {
    auto listener = tcp_listener::listen("127.0.0.1:0");
    auto const at = listener.local_endpoint();
    listener.set_deadline(5ms);
    std::error_code error;
    EXPECT_FALSE(listener.accept(error).is_open());
    EXPECT_EQ(error, std::errc::timed_out);
    auto conn = tcp_conn::dial(at);
    listener.set_deadline(clock::now() - 1s);
    EXPECT_FALSE(listener.accept(error).is_open());
    EXPECT_EQ(error, std::errc::timed_out);
    listener.set_deadline(fd::no_deadline);
    EXPECT_TRUE(listener.accept().is_open());
  });
}

TEST_P(net_deadline, NE08_dial_obeys_deadlines_of_every_size) {
  run([] {
    // A backlog that is full answers nothing: the kernel drops the first packet.
    auto listener = tcp_listener::listen("127.0.0.1:0", {.backlog = 1});
    auto const at = listener.local_endpoint();
    std::vector<tcp_conn> waiting;
    std::error_code error;
    for (int i = 0; i < 8 && !error; ++i) waiting.push_back(tcp_conn::dial(at, 30ms, error));
    EXPECT_EQ(error, std::errc::timed_out);
    using ns = std::chrono::nanoseconds;
    for (ns const past : {ns(0), ns(-1), ns::min()}) {
      EXPECT_FALSE(tcp_conn::dial(at, past, error).is_open());
      EXPECT_EQ(error, std::errc::timed_out);
    }
    auto other = tcp_listener::listen("127.0.0.1:0");
    EXPECT_TRUE(tcp_conn::dial(other.local_endpoint(), ns::max()).is_open());
    EXPECT_TRUE(tcp_conn::dial(other.local_endpoint(), ns(ns::max().count() - 1)).is_open());
  });
}

TEST_P(net_deadline, NE08_a_deadline_set_before_the_run_counts_in_it) {
  auto ab = test::socket_pair();
  fd& a = ab.a;
  a.set_read_deadline(30ms);
  run([&a] { EXPECT_EQ(read_error(a), std::errc::timed_out); });
  a.set_read_deadline(10ms);
  run([&a] { EXPECT_EQ(read_error(a), std::errc::timed_out); });
}

THRUM_AT_EVERY_WIDTH(net_deadline);

}  // namespace
}  // namespace thrum
