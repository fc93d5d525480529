// T12: channels that outlive a run. Goroutines that waited in them at the end of the run are forgotten. The elements in
// their buffers are kept.
#include "base/atomic.h"
#include "os/thread.h"
#include "support/channels.h"
#include "support/kept.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/wait_until.h"
#include <thrum/chan.h>
#include <thrum/go.h>
#include <thrum/select.h>
#include <thrum/wait_group.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace thrum::test {
namespace {

class many_runs : public testing::TestWithParam<int> {
 protected:
  [[nodiscard]] static int procs() { return GetParam(); }
  [[nodiscard]] static int runs() { return static_cast<int>(scaled(50, 10)); }
};
THRUM_AT_WIDTHS(many_runs, 1, 2, 8);

TEST_P(many_runs, T12_receivers_left_behind_get_nothing) {
  chan<int> const c;
  for (int i = 0; i < runs(); ++i) {
    run_at(procs(), [&] {
      EXPECT_FALSE(c.try_send(-1)) << "no goroutine of this run receives";
      wait_group received;
      received.go([&] { EXPECT_EQ(c.recv(), i); });
      c.send(i);
      received.wait();
      for (int k = 0; k < 3; ++k) go([=] { ADD_FAILURE() << c.recv().value_or(-2); });
      ASSERT_TRUE(wait_until_receivers(c, 3));
    });
  }
}

TEST_P(many_runs, T12_senders_left_behind_have_sent_nothing) {
  chan<std::string> const c;
  for (int i = 0; i < runs(); ++i) {
    run_at(procs(), [&] {
      EXPECT_FALSE(c.try_recv());
      wait_group sent;
      sent.go([&] { c.send(std::to_string(i)); });
      EXPECT_EQ(c.recv(), std::to_string(i));
      sent.wait();
      for (int k = 0; k < 3; ++k) go([=] { c.send("from a run that is over"); });
      ASSERT_TRUE(wait_until_senders(c, 3));
    });
  }
}

TEST_P(many_runs, T12_selects_left_behind_in_many_queues) {
  std::vector<chan<int>> const channels(4);
  for (int i = 0; i < runs(); ++i) {
    run_at(procs(), [&] {
      std::size_t const which = static_cast<std::size_t>(i) % channels.size();
      auto const choose = [&](std::optional<int>& got) {
        auto const note = [&got](std::optional<int> value) { got = value; };
        return select(on_recv(channels[0], note), on_recv(channels[1], note), on_recv(channels[2], note),
                      on_recv(channels[3], note));
      };
      std::optional<int> got;
      wait_group chosen;
      chosen.go([&] { EXPECT_EQ(choose(got), which); });
      channels[which].send(i);
      chosen.wait();
      EXPECT_EQ(got, i);
      // Some stay behind, on both sides of one channel and of several.
      for (int k = 0; k < 2; ++k) {
        go([&, channels = channels] {
          select(on_recv(channels[0]), on_recv(channels[1]), on_recv(channels[2]), on_recv(channels[3]));
          ADD_FAILURE() << "it was woken";
        });
      }
      ASSERT_TRUE(wait_until_receivers(channels[3], 2));
    });
  }
}

TEST_P(many_runs, T12_what_is_in_the_buffer_stays_there) {
  chan<std::string> const c(3);
  for (int i = 0; i < runs(); ++i) {
    run_at(procs(), [&] {
      for (int k = 0; i > 0 && k < 3; ++k) EXPECT_EQ(c.recv(), std::to_string(i - 1) + " " + std::to_string(k));
      EXPECT_FALSE(c.try_recv()) << "goroutines that waited to send more are forgotten";
      for (int k = 0; k < 3; ++k) c.send(std::to_string(i) + " " + std::to_string(k));
      go([=] { c.send("never sent"); });
      ASSERT_TRUE(wait_until_senders(c, 1));
    });
  }
}

TEST_P(many_runs, T12_closing_wakes_no_forgotten_waiter) {
  for (int i = 0; i < runs(); ++i) {
    chan<int> const c;
    chan<int> const d;
    run_at(procs(), [&] {
      go([=] { ADD_FAILURE() << c.recv().value_or(-2); });
      go([=] {
        select(on_send(d, 1), on_recv(c));
        ADD_FAILURE() << "it was woken";
      });
      go([=] {
        d.send(2);
        ADD_FAILURE() << "it was woken";
      });
      ASSERT_TRUE(wait_until_receivers(c, 2));
      ASSERT_TRUE(wait_until_senders(d, 2));
    });
    run_at(procs(), [&] {
      c.close();
      EXPECT_EQ(c.recv(), std::nullopt);
      EXPECT_THROW(c.close(), channel_closed);
      EXPECT_EQ(select(on_recv(d), otherwise()), 1U);
      d.close();
      EXPECT_EQ(d.recv(), std::nullopt);
    });
  }
}

// A goroutine was in user code when its run ended, and later uses a channel in which goroutines of the next run wait.
// It must neither wake them nor make the channel forget them.
TEST_P(many_runs, T12_a_straggler_does_not_touch_the_channels_of_the_next_run) {
  if (procs() == 1) GTEST_SKIP() << "with one P main ends only when the straggler lets it";
  for (int how = 0; how < 4; ++how) {
    chan<int> const c;
    chan<int> const d;
    auto& step = test::kept<rt::atomic<int>>(0);  // on a busy machine it looks at it for longer than this lasts
    run_at(procs(), [&] {
      go([&step, c, d, how] {
        step.store(1, rt::release);
        while (step.load(rt::acquire) < 2) rt::os::yield_thread();  // in user code: it cannot be stopped here
        switch (how) {
          case 0: c.send(666); break;
          case 1: (void)c.try_send(666); break;
          case 2: c.close(); break;
          default: select(on_recv(d), on_send(c, 666));
        }
        step.store(3, rt::release);
      });
      ASSERT_TRUE(spin_until([&] { return step.load(rt::acquire) == 1; }));
    });
    run_at(procs(), [&] {
      auto receiver = spawn([=] { return c.recv(); });
      ASSERT_TRUE(wait_until_receivers(c, 1));
      auto chooser = spawn([=] { return select(on_recv(c), on_recv(d)); });
      ASSERT_TRUE(wait_until_receivers(c, 2));
      step.store(2, rt::release);
      for (int i = 0; i < 1000; ++i) {  // time for it to do harm
        yield();
        rt::os::yield_thread();
      }
      EXPECT_EQ(waiting_on(c), (waiters{2, 0}));
      EXPECT_EQ(waiting_on(d), (waiters{1, 0}));
      EXPECT_EQ(step.load(rt::acquire), 2) << "it sleeps for good";
      c.send(1);
      d.send(2);
      EXPECT_EQ(receiver.join(), 1);
      EXPECT_EQ(chooser.join(), 1U);
      // A try that comes so late that no goroutine waits needs no run.
      if (how != 1) {
        EXPECT_EQ(step.load(rt::acquire), 2) << "also if it came late";
      }
    });
  }
}

}  // namespace
}  // namespace thrum::test
