// S39: a list of goroutines that become runnable at once, on the running scheduler. tests/queues/queues_test.cpp
// tests how they are divided between the queues.
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/slices.h"
#include "support/sockets.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace thrum {
namespace {

using test::inject_all;
using test::make_unqueued;
using test::spin_until;
using test::this_p;
using test::this_sched;

class injected : public test::at_every_width {};

TEST_P(injected, S39_a_list_from_a_p_fills_every_idle_p_at_once) {
  run([&] {
    std::atomic<int> running{0};
    wait_group all;
    rt::g_list list;
    int const idle = procs() - 1;
    ASSERT_EQ(this_sched().idle.count(), idle);
    for (int i = 0; i < idle + 5; ++i) {
      all.add(1);
      list.push_back(make_unqueued([&, i] {
        ++running;
        if (i < idle) {
          EXPECT_TRUE(spin_until([&] { return running >= idle; }));
        }
        all.done();
      }));
    }
    inject_all(list, test::inject_from::this_p);
    EXPECT_TRUE(list.empty());
    // The first ones went to the global queue, a P each was started for: they run while this P is kept.
    EXPECT_TRUE(spin_until([&] { return running >= idle; }));
    all.wait();
    EXPECT_EQ(running.load(), idle + 5);
  });
}

TEST_P(injected, S39_a_list_without_a_p_goes_through_the_global_queue) {
  test::delays_only const quiet;
  run([&] {
    test::leave_m0();
    std::atomic<int> ran{0};
    std::uint64_t before = 0;
    for (auto const& p : this_sched().procs) before += p->counters.global_takes.load(rt::relaxed);
    wait_group all;
    rt::g_list list;
    constexpr int count = 300;
    for (int i = 0; i < count; ++i) {
      all.add(1);
      list.push_back(make_unqueued([&] {
        ++ran;
        all.done();
      }));
    }
    inject_all(list, test::inject_from::nowhere);
    all.wait();
    EXPECT_EQ(ran.load(), count);
    std::uint64_t after = 0;
    for (auto const& p : this_sched().procs) after += p->counters.global_takes.load(rt::relaxed);
    EXPECT_GE(after - before, static_cast<std::uint64_t>(count));
  });
}

TEST(injected, S39_at_one_p_a_list_from_the_p_stays_in_its_run_queue_in_order) {
  test::in_run_order const undisturbed;
  test::run_at(1, [] {
    test::leave_m0();
    test::stay_clear_of_the_global_turn(20);
    std::uint64_t const takes = this_p().counters.global_takes.load(rt::relaxed);
    std::vector<int> order;
    wait_group all;
    rt::g_list list;
    for (int i = 0; i < 10; ++i) {
      all.add(1);
      list.push_back(make_unqueued([&, i] {
        order.push_back(i);
        all.done();
      }));
    }
    inject_all(list, test::inject_from::this_p);
    EXPECT_EQ(this_p().queue.size(), 10U);
    all.wait();
    EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
    EXPECT_EQ(this_p().counters.global_takes.load(rt::relaxed), takes);
  });
}

// Events are found without a P by the last idle M or by sysmon, and with a P by an M that searches for work.
TEST_P(injected, S39_what_the_poller_finds_fills_every_p) {
  run([&] {
    constexpr int readers = 64;
    int const wanted = std::min(procs(), readers);
    std::vector<test::pair_of_fds> pairs;
    for (int i = 0; i < readers; ++i) pairs.push_back(test::socket_pair());
    std::atomic<int> running{0};
    wait_group all;
    for (auto& p : pairs) {
      all.add(1);
      go([&] {
        char byte = 0;
        EXPECT_EQ(p.a.read_some({&byte, 1}), 1U);
        ++running;
        EXPECT_TRUE(spin_until([&] { return running >= wanted; }));
        all.done();
      });
    }
    EXPECT_TRUE(test::wait_until([&] { return test::waiting_for(rt::wait_reason::io) == readers; }));
    std::thread writer([&] {  // it knows nothing of thrum
      for (auto& p : pairs) EXPECT_EQ(::send(p.b.native_handle(), "x", 1, MSG_NOSIGNAL), 1);
    });
    all.wait();
    writer.join();
  });
}

THRUM_AT_EVERY_WIDTH(injected);

}  // namespace
}  // namespace thrum
