// A goroutine is readied while sysmon looks at its stack (sys/parked_stacks.h). The waker continues at once, and only
// the goroutine itself has to wait.
#include "core/g.h"
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/wait_until.h"
#include <thrum/chan.h>
#include <thrum/go.h>

#include <atomic>

#include <gtest/gtest.h>

namespace thrum::rt {
namespace {

using thrum::test::run_at;
using thrum::test::this_g;
using thrum::test::wait_until;

void begin_scan(G& g) { g.attention.fetch_or(g_attend::scanned, seq_cst); }
void end_scan(G& g) { g.attention.fetch_and(static_cast<std::uint8_t>(~g_attend::scanned), release); }

// The waker holds the channel's lock, on which others spin, and the kernel may take long to give pages back.
TEST(scanned_stack, T10_a_waker_under_a_channels_lock_does_not_wait_for_the_scan) {
  run_at(2, [] {
    chan<int> c;
    std::atomic<G*> receiver{nullptr};
    std::atomic<bool> received{false};
    go([&] {
      receiver = &this_g();
      static_cast<void>(c.recv());
      received = true;
    });
    ASSERT_TRUE(
        wait_until([&] { return receiver != nullptr && receiver.load()->status.load(acquire) == g_status::waiting; }));
    begin_scan(*receiver);
    c.send(1);  // returns, though nothing ends the scan but what follows
    EXPECT_FALSE(received) << "it ran on a stack that is being scanned";
    end_scan(*receiver);
    EXPECT_TRUE(wait_until([&] { return received.load(); }));
  });
}

TEST(scanned_stack, T10_the_age_that_the_scan_noted_does_not_outlive_the_wait) {
  G g;
  g.status.store(g_status::waiting, relaxed);
  begin_scan(g);
  g.end_wait();
  EXPECT_EQ(g.status.load(relaxed), g_status::runnable);
  EXPECT_TRUE(g.takes_detour()) << "g0 is to wait for the end of the scan";
  g.attention.fetch_or(g_attend::aged, relaxed);  // as sysmon does, late
  end_scan(g);
  g.await_scan();
  EXPECT_EQ(g.attention.load(relaxed), 0);
  EXPECT_FALSE(g.takes_detour());
}

}  // namespace
}  // namespace thrum::rt
