// S25: the network poller is a source of runnable goroutines for an M that searches for work, for sysmon, and for the
// last idle M, which sleeps in the poller.
#include "os/fault.h"
#include "support/goroutines.h"
#include "support/hogs.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/slices.h"
#include "support/sockets.h"
#include "support/switches.h"
#include "support/tries.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <time.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using test::scaled;
using test::this_sched;
using test::wait_until;

class poller : public test::at_every_width {};

int readers() { return test::waiting_for(rt::wait_reason::io); }

TEST_P(poller, S25_a_reader_of_an_empty_socket_parks_and_is_woken_by_what_comes) {
  run([] {
    auto ab = test::socket_pair();
    fd& a = ab.a;
    fd& b = ab.b;
    auto reader = spawn([&a] {
      char byte = 0;
      EXPECT_EQ(a.read_some({&byte, 1}), 1U);
      return byte;
    });
    EXPECT_TRUE(wait_until([] { return readers() == 1; }));
    EXPECT_EQ(this_sched().poll.waiters(), 1);
    b.write_all("x");
    EXPECT_EQ(reader.join(), 'x');
    EXPECT_EQ(this_sched().poll.waiters(), 0);
  });
}

TEST_P(poller, S25_questions_and_answers_on_many_sockets_lose_no_wake_up) {
  run([] {
    constexpr int pairs = 20;
    auto const rounds = scaled(2'000, 100);
    wait_group all;
    for (int i = 0; i < pairs; ++i) {
      all.add(1);
      go([&all, rounds] {
        auto ab = test::socket_pair();
        fd& a = ab.a;
        fd& b = ab.b;
        auto other = spawn([&b] { test::answer_all(b); });
        for (std::int64_t round = 0; round < rounds; ++round) test::ask(a);
        a.close();
        other.join();
        all.done();
      });
    }
    all.wait();
    EXPECT_EQ(this_sched().poll.waiters(), 0);
  });
}

TEST_P(poller, S25_one_pair_alone_lets_all_threads_sleep_between_two_bytes) {
  run([] {
    auto ab = test::socket_pair();
    fd& a = ab.a;
    fd& b = ab.b;
    std::thread outside([descriptor = b.native_handle()] {  // it knows nothing of thrum
      char byte = 0;
      for (;;) {
        long const n = ::recv(descriptor, &byte, 1, 0);
        if (n == 0) return;
        if (n < 0) {
          std::this_thread::yield();
          continue;
        }
        EXPECT_EQ(::send(descriptor, &byte, 1, MSG_NOSIGNAL), 1);
      }
    });
    for (std::int64_t round = scaled(3'000, 100); round > 0; --round) test::ask(a);
    a.close();
    outside.join();
  });
}

TEST_P(poller, S25_sleepers_and_readers_share_the_last_idle_thread) {
  run([] {
    auto ab = test::socket_pair();
    fd& a = ab.a;
    fd& b = ab.b;
    wait_group all;
    all.add(2);
    go([&] {
      test::answer_all(b);
      all.done();
    });
    std::atomic<int> naps{0};
    std::atomic<bool> done{false};
    go([&] {
      while (!done) {
        sleep_for(100us);
        ++naps;
      }
      all.done();
    });
    for (std::int64_t round = scaled(1'000, 100); round > 0; --round) {
      test::ask(a);
      if (round % 10 == 0) sleep_for(50us);
    }
    EXPECT_TRUE(wait_until([&] { return naps > 10; }));
    done = true;
    a.close();
    all.wait();
  });
}

// The others sleep for an hour, or for ever, when the first timer is set.
TEST_P(poller, S25_an_earlier_timer_ends_the_sleep_in_the_poll) {
  run([] {
    auto ab = test::socket_pair();
    fd& a = ab.a;
    fd& b = ab.b;
    auto reader = spawn([&a] {
      char byte = 0;
      return a.read_some({&byte, 1});
    });
    for (int i = 0; i < 20; ++i) sleep_for(1ms);
    b.write_all("x");
    EXPECT_EQ(reader.join(), 1U);
  });
}

bool is_at_rest(rt::Sched& s) {
  rt::os::lock_guard const guard(s.lock);
  return s.sysmon.is_in_deep_sleep() && s.idle.count() == s.procs.size();
}

struct activity {
  std::uint64_t calls;  // of the runtime's, of any kind
  long switches;        // of all threads: also by calls that do not come by way of os/
};

// By a thread that is no goroutine: what happens in a fifth of a second at rest.
activity at_rest(rt::Sched& s) {
  EXPECT_TRUE(test::spin_until([&] { return is_at_rest(s); }));
  activity seen{};
  long const switches = test::voluntary_switches(test::counted_threads::others);
  rt::os::count_calls();
  timespec const some{.tv_sec = 0, .tv_nsec = 200'000'000};
  ::nanosleep(&some, nullptr);
  for (unsigned kind = 0; kind < static_cast<unsigned>(rt::os::call::count_); ++kind) {
    seen.calls += rt::os::calls_made(static_cast<rt::os::call>(kind));
  }
  rt::os::clear_faults();
  seen.switches = test::voluntary_switches(test::counted_threads::others) - switches;
  return seen;
}

// A thread may be on its way to rest at the beginning, so only one of several tries has to succeed. Sanitizers have
// threads of their own.
TEST_P(poller, S25_an_idle_program_makes_no_system_call_between_events) {
  test::delays_only const quiet;
  run([] {
    rt::Sched& s = this_sched();
    auto ab = test::socket_pair();
    fd& a = ab.a;
    fd& b = ab.b;
    activity seen{};
    long const switches_max = rt::with_asan || rt::with_tsan ? 20 : 0;
    std::thread outside([&] {
      seen = test::in_one_of(
          20, [&] { return at_rest(s); },
          [=](activity const& now) { return now.calls == 0 && now.switches <= switches_max; });
      b.write_all("x");
    });
    char byte = 0;
    EXPECT_EQ(a.read_some({&byte, 1}), 1U);
    blocking([&] { outside.join(); });
    EXPECT_EQ(seen.calls, 0U);
    EXPECT_LE(seen.switches, switches_max);
  });
}

TEST_P(poller, S25_a_thread_from_outside_waits_as_a_thread) {
  run([] {
    auto ab = test::socket_pair();
    fd& a = ab.a;
    fd& b = ab.b;
    std::thread outside([&b] { test::answer_all(b); });
    for (std::int64_t round = scaled(500, 50); round > 0; --round) test::ask(a);
    a.close();
    blocking([&] { outside.join(); });
  });
}

TEST_P(poller, S25_ps_come_and_go_and_the_world_stops_beside_readers) {
  run([] {
    constexpr int pairs = 8;
    std::atomic<bool> done{false};
    wait_group all;
    for (int i = 0; i < pairs; ++i) {
      all.add(1);
      go([&] {
        auto ab = test::socket_pair();
        fd& a = ab.a;
        fd& b = ab.b;
        auto other = spawn([&b] { test::answer_all(b); });
        while (!done) test::ask(a);
        a.close();
        other.join();
        all.done();
      });
    }
    int const before = procs();
    for (std::int64_t round = scaled(100, 10); round > 0; --round) {
      set_max_procs(1 + static_cast<int>(round % 5));
      sleep_for(200us);
    }
    set_max_procs(before);
    done = true;
    all.wait();
  });
}

TEST_P(poller, S25_the_end_of_the_run_does_not_wait_for_readers_and_the_next_run_takes_the_descriptor_over) {
  auto ab = test::socket_pair();
  fd& a = ab.a;
  fd& b = ab.b;
  for (int round = 0; round < 3; ++round) {
    run([&a] {
      go([&] {
        char byte = 0;
        static_cast<void>(a.read_some({&byte, 1}));
        ADD_FAILURE() << "nothing was written";
      });
      EXPECT_TRUE(wait_until([] { return readers() == 1; }));
    });
  }
  run([&a, &b] {
    auto reader = spawn([&] {
      char byte = 0;
      return a.read_some({&byte, 1});
    });
    EXPECT_TRUE(wait_until([] { return readers() == 1; }));
    b.write_all("x");
    EXPECT_EQ(reader.join(), 1U);
  });
}

TEST_P(poller, S25_closing_and_opening_beside_sleepers_in_the_poll) {
  run([] {
    wait_group all;
    for (int i = 0; i < 4; ++i) {
      all.add(1);
      go([&] {
        for (std::int64_t round = scaled(500, 50); round > 0; --round) {
          auto ab = test::socket_pair();
          fd& a = ab.a;
          auto reader = spawn([&a] {
            char byte = 0;
            std::error_code error;
            EXPECT_EQ(a.read_some({&byte, 1}, error), 0U);
            EXPECT_EQ(error, std::errc::operation_canceled);
          });
          if (round % 2 == 0) yield();
          a.close();
          reader.join();
        }
        all.done();
      });
    }
    all.wait();
  });
}

THRUM_AT_EVERY_WIDTH(poller);

}  // namespace
}  // namespace thrum
