// Streams: rows NE-10, NE-11, NE-13, NE-14.
#include "core/poll_table.h"
#include "os/fault.h"
#include "os/socket.h"
#include "support/allocations.h"
#include "support/busy_machine.h"
#include "support/goroutines.h"
#include "support/rounds.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/sockets.h"
#include "support/wait_until.h"
#include "wait/poll_close.h"
#include "wait/poll_use.h"
#include <thrum/thrum.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using test::scaled;
using test::wait_until;

class net_stream : public test::at_every_width {};

void echo_over_two_connections(std::int64_t rounds) {
  auto listener = tcp_listener::listen("127.0.0.1:0");
  auto const at = listener.local_endpoint();
  wait_group all;
  for (int i = 0; i < 2; ++i) {
    all.go([&] {
      auto conn = tcp_conn::dial(at);
      std::array<char, 512> out{};
      std::array<char, 512> in{};
      for (std::int64_t round = 0; round < rounds; ++round) {
        out.fill(static_cast<char>(round));
        conn.write_all(out);
        EXPECT_EQ(conn.read_full(in), in.size());
        EXPECT_EQ(in, out);
      }
      conn.close();
    });
    all.go([&] {
      auto conn = listener.accept();
      test::answer_all(conn);
    });
  }
  all.wait();
}

TEST_P(net_stream, NE10_two_connections_echo_512_bytes_ten_thousand_times) {
  run([] {
    auto const limit = test::limits_count() ? 2s : clock::duration::max();  // Go: 0.16 s
    auto best = clock::duration::max();
    for (int tries = 0; tries < 3 && (tries == 0 || best > limit); ++tries) {
      test::busy_machine const machine;
      echo_over_two_connections(scaled(10'000, 500));
      best = std::min(best, machine.time_taken());
    }
    EXPECT_LE(best, limit);
  });
}

TEST_P(net_stream, NE10_reads_and_writes_of_nothing_return_at_once_and_halves_close) {
  run([] {
    auto listener = tcp_listener::listen("127.0.0.1:0");
    auto conn = tcp_conn::dial(listener.local_endpoint());
    auto peer = listener.accept();
    EXPECT_EQ(peer.remote_endpoint(), conn.local_endpoint());
    char byte = 0;
    EXPECT_EQ(conn.read_some({&byte, 0}), 0U);
    EXPECT_EQ(conn.write_all({&byte, 0}), 0U);
    EXPECT_EQ(conn.read_full({&byte, 0}), 0U);
    conn.write_all("question");
    conn.shutdown_write();
    std::array<char, 64> bytes{};
    EXPECT_EQ(test::read_to_end(peer, bytes), 8U);
    EXPECT_EQ(peer.read_some(bytes), 0U);
    peer.write_all("answer");
    peer.close();
    EXPECT_EQ(test::read_to_end(conn, bytes), 6U);
    EXPECT_EQ(conn.read_some(bytes), 0U);
  });
}

TEST_P(net_stream, NE10_parts_and_large_writes_arrive_whole_and_in_order) {
  run([] {
    auto ab = test::socket_pair();
    fd& a = ab.a;
    fd& b = ab.b;
    std::string const big(3 << 20, 'x');
    std::string const head = "head:";
    auto reader = spawn([&b, all = head.size() + big.size() + 5] {
      std::string got(all, '\0');
      EXPECT_EQ(b.read_full(got), all);
      return got;
    });
    std::array<const_buffer, 4> const parts{head, const_buffer(), big, ":tail"};
    EXPECT_EQ(a.write_all(parts), head.size() + big.size() + 5);
    EXPECT_EQ(reader.join(), head + big + ":tail");
    b.write_all("ab");
    std::array<char, 1> first{};
    std::array<char, 4> second{};
    std::array<mutable_buffer, 2> const to{first, second};
    EXPECT_EQ(a.read_some(to), 2U);
    EXPECT_EQ(first[0], 'a');
    EXPECT_EQ(second[0], 'b');
  });
}

// What a short read leaves is found by the next one, whether data or the end comes with it or later.
TEST_P(net_stream, NE10_the_end_is_seen_after_a_short_read) {
  run([] {
    for (std::int64_t round = scaled(2'000, 200); round > 0; --round) {
      auto ab = test::socket_pair();
      fd& a = ab.a;
      fd& b = ab.b;
      auto writer = spawn([&b, round] {
        b.write_all("data");
        if (round % 3 == 0) yield();
        b.close();
      });
      if (round % 2 == 0) yield();
      std::array<char, 64> bytes{};
      EXPECT_EQ(test::read_to_end(a, bytes), 4U);
      writer.join();
    }
  });
}

TEST_P(net_stream, NE11_reads_and_writes_allocate_nothing) {
  if (!test::allocations_are_seen) GTEST_SKIP() << "the sanitizer replaces malloc";
  run([] {
    auto ab = test::socket_pair();
    fd& a = ab.a;
    fd& b = ab.b;
    auto other = spawn([&b] { test::answer_all(b); });
    a.set_deadline(1h);
    for (int i = 0; i < 100; ++i) test::ask(a);
    EXPECT_TRUE(test::wait_until([&] {  // other threads may still be made, and the process has others that make some
      auto const before = test::allocations_made();
      for (int i = 0; i < 1'000; ++i) {
        a.set_deadline(1h);
        test::ask(a);
      }
      return test::allocations_made() == before;
    }));
    a.close();
    other.join();
  });
}

// Go's TestEndlessWrite: the peer writes and reads nothing more. The kernel takes data until its buffers are full.
TEST_P(net_stream, NE11_a_writer_to_a_half_closed_peer_does_not_loop) {
  run([] {
    auto listener = tcp_listener::listen("127.0.0.1:0");
    auto conn = tcp_conn::dial(listener.local_endpoint());
    auto peer = listener.accept();
    peer.shutdown_write();
    std::vector<char> const much(1 << 20);
    std::error_code error;
    conn.set_write_deadline(100ms);
    while (!error) static_cast<void>(conn.write_all(much, error));
    EXPECT_EQ(error, std::errc::timed_out);
    rt::os::count_calls();
    conn.set_write_deadline(200ms);
    static_cast<void>(conn.write_all(much, error));
    auto const calls = rt::os::calls_made(rt::os::call::send);
    rt::os::clear_faults();
    EXPECT_EQ(error, std::errc::timed_out);
    EXPECT_LE(calls, 20U);
  });
}

// The inode of the file that the descriptor refers to. The descriptor number alone says little, because sysmon opens
// files of its own. The system call is made by number, because ThreadSanitizer would report a look at a file that
// sysmon has just opened as a race.
ino_t file_behind(int number) {
  struct stat about {};
  return ::syscall(SYS_fstat, number, &about) == 0 ? about.st_ino : 0;
}

TEST_P(net_stream, NE13_close_fails_all_that_queue_for_a_descriptor_and_the_last_to_leave_closes_it) {
  run([] {
    auto ab = test::socket_pair();
    fd& a = ab.a;
    int const number = a.native_handle();
    ino_t const socket_behind = file_behind(number);
    wait_group all;
    std::atomic<int> canceled{0};
    for (int i = 0; i < 4; ++i) {
      all.add(1);
      go([&a, &all, &canceled] {
        std::array<char, 8> bytes{};
        std::error_code error;
        static_cast<void>(a.read_some(bytes, error));
        canceled += error == std::errc::operation_canceled;
        all.done();
      });
    }
    EXPECT_TRUE(wait_until([] { return test::waiting_for(rt::wait_reason::io) == 4; }));
    a.close();
    EXPECT_FALSE(a.is_open());
    std::error_code error;
    a.close(error);
    EXPECT_EQ(error, std::errc::bad_file_descriptor);
    all.wait();
    EXPECT_EQ(canceled, 4);
    EXPECT_NE(file_behind(number), socket_behind);
  });
}

// At every moment of its way into the wait.
TEST_P(net_stream, NE13_close_and_deadlines_meet_goroutines_that_are_about_to_wait) {
  run([] {
    for (std::int64_t round = scaled(5'000, 500); round > 0; --round) {
      auto ab = test::socket_pair();
      auto reader = spawn([&] {
        std::array<char, 8> bytes{};
        std::error_code error;
        static_cast<void>(ab.a.read_some(bytes, error));
        return error;
      });
      if (round % 4 != 0) yield();
      for (std::int64_t pause = round % 64; pause > 0; --pause) rt::cpu_relax();
      if (round % 2 == 0) {
        ab.a.close();
        EXPECT_EQ(reader.join(), std::errc::operation_canceled);
      } else {
        ab.a.set_read_deadline(clock::now() - 1s);
        EXPECT_EQ(reader.join(), std::errc::timed_out);
      }
    }
  });
}

TEST_P(net_stream, NE13_a_user_keeps_the_descriptors_number_but_not_its_file) {
  run([] {
    auto ab = test::socket_pair();
    fd& a = ab.a;
    int const number = a.native_handle();
    constexpr int high_number = 500;  // no file that is opened meanwhile gets it
    rt::poll_desc* const d = rt::take_poll_desc(::fcntl(number, F_DUPFD_CLOEXEC, high_number), rt::poll_kind::other);
    rt::own_poll_desc(*d);
    int const copy = d->fd;
    ino_t const socket_behind = file_behind(copy);
    rt::poll_use mine;
    ASSERT_TRUE(mine.begin(*d));
    rt::drop_poll_desc(*d);
    EXPECT_NE(file_behind(copy), socket_behind);
    EXPECT_GE(::fcntl(copy, F_GETFD), 0);  // it is taken: no file that is opened now gets it
    char byte = 0;
    EXPECT_LT(rt::os::read(copy, &byte, 1), 0);
    EXPECT_LT(rt::os::write(copy, &byte, 1), 0);
    rt::poll_use late;
    EXPECT_FALSE(late.begin(*d));
    mine.end(*d);
    EXPECT_LT(::fcntl(copy, F_GETFD), 0);
  });
}

TEST_P(net_stream, NE13_the_lock_of_a_direction_lets_one_in_at_a_time) {
  run([] {
    auto ab = test::socket_pair();
    fd& a = ab.a;
    rt::poll_desc* const d = rt::take_poll_desc(::dup(a.native_handle()), rt::poll_kind::other);
    rt::own_poll_desc(*d);
    wait_group all;
    std::int64_t counters[2]{};
    auto const rounds = test::is_long() ? 1'000'000 : scaled(20'000, 500);
    for (int i = 0; i < 8; ++i) {
      all.add(1);
      go([&, i] {
        auto const which = i % 2 == 0 ? rt::poll_side_name::read : rt::poll_side_name::write;
        for (std::int64_t round = 0; round < rounds; ++round) {
          rt::poll_use mine;
          EXPECT_TRUE(mine.begin(*d, which));
          ++counters[i % 2];
          if (round % 64 == 0) yield();
          mine.end(*d, which);
        }
        all.done();
      });
    }
    all.wait();
    EXPECT_EQ(counters[0], 4 * rounds);
    EXPECT_EQ(counters[1], 4 * rounds);
    rt::drop_poll_desc(*d);
  });
}

TEST_P(net_stream, NE13_messages_of_several_writers_stay_whole) {
  run([] {
    auto ab = test::socket_pair();
    fd& a = ab.a;
    fd& b = ab.b;
    constexpr std::size_t length = 100'000;
    wait_group all;
    for (int i = 0; i < 4; ++i) {
      all.add(1);
      go([&a, &all, i] {
        a.write_all(std::string(length, static_cast<char>('a' + i)));
        all.done();
      });
    }
    std::string got(length, '\0');
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(b.read_full(got), length);
      EXPECT_EQ(got, std::string(length, got[0]));
    }
    all.wait();
  });
}

// A look at its record.
struct watched_fd : fd {
  using fd::fd;
  [[nodiscard]] bool has_a_reader() const {
    return rt::poll_words::waiter(desc_->side(rt::poll_side_name::read).word.load(rt::relaxed)) != nullptr;
  }
  [[nodiscard]] std::uint64_t event_data() const { return rt::poll_data_of(*desc_); }
};

struct watched_pair {
  watched_fd watched;
  fd other;
};

watched_pair open_watched_pair() {
  int ends[2]{};
  EXPECT_EQ(rt::os::open_socket_pair(SOCK_STREAM, ends), 0);
  return {watched_fd(ends[0]), fd(ends[1])};
}

// Delivers an event late, as a thread does that was descheduled after it had fetched the event. Returns whether a
// goroutine is woken.
bool bring_late(std::uint64_t event_data) {
  rt::os::poll_event const late{event_data,
                                rt::os::poll_says::readable | rt::os::poll_says::writable | rt::os::poll_says::ended};
  rt::g_list woken;
  {
    rt::runtime_mark const mark;
    rt::g_list found;
    rt::take_events(&late, 1, test::this_sched().epoch, found);
    while (rt::G* const g = found.pop_front()) {
      g->end_wait();
      woken.push_back(*g);
    }
  }
  bool const any_woken = !woken.empty();
  if (any_woken) test::inject_all(woken, test::inject_from::this_p);
  return any_woken;
}

// A goroutine that is woken without an event tries its call once more, so the test counts the tries: one before the
// wait and one after it. The kernel's own events are seldom so late, except with chaos ("poll.fetched").
TEST_P(net_stream, NE14_an_event_of_a_descriptor_that_was_closed_never_wakes_the_next_owner) {
  run([] {
    auto const most = scaled(2'500, 100);
    constexpr int at_once = 4;
    std::atomic<std::int64_t> done = 0;
    rt::os::clear_faults();
    rt::os::count_calls();
    wait_group all;
    for (int i = 0; i < at_once; ++i) {
      all.go([&] {
        for (test::rounds mine(most); mine.next(); ++done) {
          auto before = open_watched_pair();
          before.other.write_all("x");  // its event is pending
          std::uint64_t const data = before.watched.event_data();
          before.watched.close();
          before.watched = watched_fd();
          // Takes the record over, if none of the others does, and perhaps the number.
          auto next = open_watched_pair();
          auto owner = spawn([&next] {
            std::array<char, 4> bytes{};
            EXPECT_EQ(next.watched.read_some(bytes), 1U);
            EXPECT_EQ(bytes[0], 'y');
          });
          EXPECT_TRUE(wait_until([&] { return next.watched.has_a_reader(); }));
          EXPECT_FALSE(bring_late(data));
          next.other.write_all("y");
          owner.join();
        }
      });
    }
    all.wait();
    auto const tries = rt::os::calls_made(rt::os::call::receive);
    rt::os::clear_faults();
    EXPECT_EQ(tries, static_cast<std::uint64_t>(2 * done));
  });
}

THRUM_AT_EVERY_WIDTH(net_stream);

}  // namespace
}  // namespace thrum
