// TR-04, TR-05: how long goroutines wait and for what, how long calls and polls take, and how long Ps are idle.
#include "os/clock.h"
#include "support/exposition.h"
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/sockets.h"
#include "support/wait_until.h"
#include "support/with_debug.h"
#include <thrum/thrum.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>

#include <gtest/gtest.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using test::run_at;
using test::wait_until;
using test::waiting_for;

constexpr int ns_per_ms = 1'000'000;

wait_stats waits_for(std::string_view reason) {
  stats const now = read_stats();
  auto const found =
      std::find_if(now.waits.begin(), now.waits.end(), [&](wait_stats const& each) { return each.reason == reason; });
  EXPECT_NE(found, now.waits.end()) << reason;
  return *found;
}

// Has a goroutine wait while `hold` and `release` hold what it waits for, for at least 100 ms after it has begun to
// wait. The wait is in the statistics then.
template <class Wait, class Release>
void expect_100_ms(char const* reason, rt::wait_reason as, Wait wait, Release release) {
  wait_stats const before = waits_for(reason);
  wait_group all;
  all.go(wait);
  ASSERT_TRUE(wait_until([&] { return waiting_for(as) == 1; })) << reason;
  std::int64_t const seen_ns = rt::os::monotonic_ns();
  sleep_for(100ms);
  std::int64_t const held_ns = rt::os::monotonic_ns() - seen_ns;
  release();
  all.wait();
  wait_stats const after = waits_for(reason);
  EXPECT_GE((after.time - before.time).count(), held_ns) << reason;
  EXPECT_GE(held_ns, 100 * ns_per_ms);
  EXPECT_GE(after.count, before.count + 1) << reason;
  EXPECT_EQ(after.measured - before.measured, after.count - before.count) << reason;
}

class waits : public test::at_every_width {};
THRUM_AT_EVERY_WIDTH(waits);

TEST_P(waits, TR05_a_lock_that_was_held_for_100_ms_adds_as_much_to_the_time_that_goroutines_waited) {
  run([] {
    mutex m;
    m.lock();
    expect_100_ms(
        "mutex", rt::wait_reason::mutex, [&] { std::lock_guard const guard(m); }, [&] { m.unlock(); });
    shared_mutex s;
    s.lock();
    expect_100_ms(
        "shared mutex (read)", rt::wait_reason::read_lock, [&] { std::shared_lock const guard(s); },
        [&] { s.unlock(); });
    s.lock_shared();
    expect_100_ms(
        "shared mutex (write)", rt::wait_reason::write_lock, [&] { std::lock_guard const guard(s); },
        [&] { s.unlock_shared(); });
    s.lock();
    m.lock();
    // With a time limit.
    expect_100_ms(
        "mutex", rt::wait_reason::mutex,
        [&] {
          EXPECT_TRUE(m.try_lock_for(1h));
          m.unlock();
        },
        [&] { m.unlock(); });
    s.unlock();
  });
}

TEST_P(waits, other_waits_are_counted_and_measured_only_if_that_is_asked_for) {
  run([] {
    auto const wait_once = [] {
      chan<int> c;
      wait_group all;
      all.go([&] { static_cast<void>(c.recv()); });
      ASSERT_TRUE(wait_until([] { return waiting_for(rt::wait_reason::chan_receive) == 1; }));
      c.send(1);
      all.wait();
    };
    wait_stats const before = waits_for("chan receive");
    wait_once();
    wait_stats const counted = waits_for("chan receive");
    EXPECT_EQ(counted.count, before.count + 1);
    EXPECT_EQ(counted.measured, 0U);
    EXPECT_EQ(counted.time, 0ns);

    EXPECT_FALSE(measure_waits(true));
    chan<int> c;
    expect_100_ms(
        "chan receive", rt::wait_reason::chan_receive, [&] { static_cast<void>(c.recv()); }, [&] { c.send(1); });
    mutex m;
    m.lock();
    expect_100_ms(
        "mutex", rt::wait_reason::mutex, [&] { std::lock_guard const guard(m); }, [&] { m.unlock(); });
    EXPECT_TRUE(measure_waits(false));
    EXPECT_FALSE(measure_waits(false));

    wait_stats const measured = waits_for("chan receive");
    wait_once();
    EXPECT_EQ(waits_for("chan receive").count, measured.count + 1);
    EXPECT_EQ(waits_for("chan receive").measured, measured.measured);
  });
}

TEST(wait_stats, a_wait_is_counted_once_under_its_reason) {
  run_at(2, [] {
    sleep_for(1ms);
    wait_group done;
    done.add(1);
    wait_group all;
    all.go([&] { done.wait(); });
    ASSERT_TRUE(wait_until([] { return waiting_for(rt::wait_reason::wait_group) == 1; }));
    done.done();
    all.wait();
    stats const after = read_stats();
    std::uint64_t sum = 0;
    std::uint64_t parks = 0;
    for (wait_stats const& each : after.waits) {
      EXPECT_NE(std::string(each.reason), "");
      sum += each.count;
    }
    for (proc_stats const& p : after.procs) parks += p.parks;
    EXPECT_EQ(sum, parks);
    EXPECT_GE(waits_for("sleep").count, 1U);
    EXPECT_GE(waits_for("wait group").count, 1U);
    EXPECT_EQ(waits_for("chan send").count, 0U);
  });
}

TEST(wait_stats, THRUM_DEBUG_asks_for_a_whole_run) {
  test::with_debug const asked("waittimes=1");
  run_at(2, [] {
    sleep_for(5ms);
    wait_stats const sleeps = waits_for("sleep");
    EXPECT_GE(sleeps.measured, 1U);
    EXPECT_GE(sleeps.time, 5ms);
    EXPECT_TRUE(measure_waits(true));
  });
}

TEST(wait_stats, without_a_runtime_it_cannot_be_asked_for) { EXPECT_THROW(measure_waits(true), std::logic_error); }

TEST_P(waits, TR05_counters_never_fall) {
  run([] {
    std::atomic<bool> stop{false};
    wait_group all;
    mutex m;
    chan<int> c;
    for (int i = 0; i < 4; ++i) {
      all.go([&] {
        while (!stop) {
          std::lock_guard const guard(m);
          blocking([] {});
          yield();
        }
      });
    }
    all.go([&] {
      for (int i = 0; !stop; ++i) c.send(i);
      c.close();
    });
    all.go([&] {
      while (c.recv()) {
      }
    });
    std::map<std::string, double> seen;
    for (int read = 0; read < 10; ++read) {
      sleep_for(1ms);
      test::exposition_reader const now(prometheus_text(read_stats()));
      EXPECT_TRUE(now.faults().empty()) << now.faults().front();
      for (test::exposition_metric const& metric : now.metrics()) {
        if (metric.type == "gauge") continue;
        for (test::exposition_sample const& sample : metric.samples) {
          std::string key = sample.name;
          for (auto const& [name, value] : sample.labels) key += ' ' + name + '=' + value;
          double& before = seen[key];
          EXPECT_GE(sample.value, before) << key;
          before = sample.value;
        }
      }
    }
    stop = true;
    all.wait();
  });
}

TEST(call_stats, a_sample_of_the_announced_calls_and_each_long_one_are_measured) {
  run_at(1, [] {
    stats const before = read_stats();
    for (int i = 0; i < 640; ++i) blocking([] {});
    stats const after = read_stats();
    EXPECT_GE(after.calls_took.count - before.calls_took.count, 9U);
    EXPECT_LE(after.calls_took.count - before.calls_took.count, 11U);
    EXPECT_GE(after.calls_took.total, after.calls_took.longest);
    EXPECT_EQ(after.long_calls_took.count, 0U);

    std::int64_t slept_ns = 0;
    for (int i = 0; i < 3; ++i) {
      blocking(
          [&] {
            std::int64_t const began_ns = rt::os::monotonic_ns();
            std::this_thread::sleep_for(5ms);
            slept_ns += rt::os::monotonic_ns() - began_ns;
          },
          blocking_hint::long_call);
    }
    stats const late = read_stats();
    EXPECT_EQ(late.long_calls_took.count, 3U);
    EXPECT_GE(late.long_calls_took.total.count(), slept_ns);
    EXPECT_EQ(late.calls_took.count, after.calls_took.count);
  });
}

// The goroutine may go on on another thread then, and the next call on the first one is measured by itself.
TEST(call_stats, a_call_in_which_the_goroutine_waits_is_not_attributed_to_another) {
  run_at(4, [] {
    for (int i = 0; i < 200; ++i) {
      wait_group all;
      chan<int> c;
      all.go([&] { blocking([&] { static_cast<void>(c.recv()); }, blocking_hint::long_call); });
      ASSERT_TRUE(wait_until([] { return waiting_for(rt::wait_reason::chan_receive) == 1; }));
      c.send(1);
      all.wait();
      blocking([] {});
    }
    stats const now = read_stats();
    EXPECT_LE(now.long_calls_took.count, 200U);
    std::uint64_t sum = 0;
    for (std::uint64_t const each : now.long_calls_took.by_time) sum += each;
    EXPECT_EQ(sum, now.long_calls_took.count);
  });
}

TEST(poll_stats, a_sample_of_the_polls_is_measured) {
  run_at(1, [] {
    auto there = test::pipe_pair();
    auto back = test::pipe_pair();
    wait_group all;
    all.go([&] {
      char byte = 0;
      std::error_code error;
      while (there.a.read_some({&byte, 1}, error) == 1) back.b.write_all({&byte, 1});
    });
    char byte = 'x';
    EXPECT_TRUE(wait_until([&] {
      for (int i = 0; i < 10; ++i) {
        there.b.write_all({&byte, 1});
        EXPECT_EQ(back.a.read_some({&byte, 1}), 1U);
      }
      return read_stats().polls_took.count >= 2;
    }));
    there.b.close();
    all.wait();
    stats const now = read_stats();
    std::uint64_t polls = 0;
    for (proc_stats const& p : now.procs) polls += p.polls;
    EXPECT_LE(now.polls_took.count, polls / 16 + 1);
    EXPECT_GE(now.polls_took.count, polls / 16);
    EXPECT_GT(now.polls_took.total, 0ns);
  });
}

TEST(idle_stats, TR04_while_the_only_goroutine_sleeps_all_ps_are_idle) {
  for (int const procs : {1, 4, 14}) {
    std::int64_t const run_began_ns = rt::os::monotonic_ns();
    run_at(procs, [&] {
      // On a busy machine a thread that is about to give its P up may be late. So one try of several must do.
      EXPECT_TRUE(wait_until([&] {
        std::int64_t const before_ns = rt::os::monotonic_ns();
        auto const before = read_stats().idle_time;
        std::int64_t const began_ns = rt::os::monotonic_ns();
        sleep_for(100ms);
        std::int64_t const slept_ns = rt::os::monotonic_ns() - began_ns;
        auto const idle_ns = static_cast<double>((read_stats().idle_time - before).count());
        EXPECT_LE(idle_ns, static_cast<double>(rt::os::monotonic_ns() - before_ns) * procs);
        return idle_ns >= static_cast<double>(slept_ns) * (procs - 0.5);
      })) << procs;
      std::int64_t const idle_ns = read_stats().idle_time.count();
      EXPECT_LE(idle_ns, (rt::os::monotonic_ns() - run_began_ns) * procs);
    });
  }
}

}  // namespace
}  // namespace thrum
