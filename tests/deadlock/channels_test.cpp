// Deadlocks in which every goroutine waits for a channel (DL-01). The report names the reason of each wait (DL-14).
#include "deadlock/deadlock.h"
#include <thrum/chan.h>
#include <thrum/go.h>
#include <thrum/run.h>
#include <thrum/select.h>

#include <span>

#include <gtest/gtest.h>

namespace thrum::test {
namespace {

class channel_deadlock : public deadlock_test {};

TEST_F(channel_deadlock, DL01_main_receives_and_no_goroutine_will_send) {
  for (int const procs : {1, 2, 8, 64}) {
    EXPECT_FATAL(thrum::run([] { (void)chan<int>().recv(); }, {.max_procs = procs}),
                 DEADLOCK "goroutine 1 \\[waiting: chan receive\\]");
  }
}

TEST_F(channel_deadlock, DL14_send) {
  EXPECT_FATAL(thrum::run([] { chan<int>().send(1); }), DEADLOCK "goroutine 1 \\[waiting: chan send\\]");
}

TEST_F(channel_deadlock, DL14_send_to_a_full_buffer) {
  EXPECT_FATAL(thrum::run([] {
                 chan<int> const c(2);
                 for (;;) c.send(1);
               }),
               DEADLOCK "goroutine 1 \\[waiting: chan send\\]");
}

TEST_F(channel_deadlock, DL14_iteration) {
  EXPECT_FATAL(thrum::run([] {
                 chan<int> const c(1);
                 c.send(1);
                 for (int const value : c) static_cast<void>(value);
               }),
               DEADLOCK "goroutine 1 \\[waiting: chan receive\\]");
}

TEST_F(channel_deadlock, DL14_send_and_receive_on_nil) {
  EXPECT_FATAL(thrum::run([] { chan<int>(nullptr).send(1); }),
               DEADLOCK "goroutine 1 \\[waiting: chan send \\(nil chan\\)\\]");
  EXPECT_FATAL(thrum::run([] { (void)chan<int>(nullptr).recv(); }),
               DEADLOCK "goroutine 1 \\[waiting: chan receive \\(nil chan\\)\\]");
}

TEST_F(channel_deadlock, DL14_select) {
  EXPECT_FATAL(thrum::run([] {
                 chan<int> const c;
                 select(on_send(c, 1), on_recv(c), on_recv(chan<int>(nullptr)));
               }),
               DEADLOCK "goroutine 1 \\[waiting: select\\]");
}

TEST_F(channel_deadlock, DL14_select_without_cases) {
  EXPECT_FATAL(thrum::run([] { select(); }), DEADLOCK "goroutine 1 \\[waiting: select \\(no cases\\)\\]");
  EXPECT_FATAL(thrum::run([] { select(on_recv(chan<int>(nullptr)), on_send(chan<int>(nullptr), 1)); }),
               DEADLOCK "goroutine 1 \\[waiting: select \\(no cases\\)\\]");
  EXPECT_FATAL(thrum::run([] { select(std::span<select_case>()); }),
               DEADLOCK "goroutine 1 \\[waiting: select \\(no cases\\)\\]");
}

// All reasons beside each other, with names.
TEST_F(channel_deadlock, DL14_every_goroutine_is_listed_with_its_reason) {
  EXPECT_FATAL(thrum::run(
                   [] {
                     chan<int> const c;
                     auto const start = [](char const* name, auto f) {
                       go([=] {
                         this_goroutine::set_name(name);
                         f();
                       });
                       yield();
                     };
                     start("receiver", [=] { (void)c.recv(); });
                     start("chooser", [=] { select(on_recv(c), on_recv(chan<int>())); });
                     start("caseless", [] { select(); });
                     chan<int>(nullptr).send(1);
                   },
                   {.max_procs = 1}),
               DEADLOCK "goroutine [0-9]+ \\[waiting: select \\(no cases\\)\\] caseless");
}

// A deadlock that comes after much traffic, on any P.
TEST_F(channel_deadlock, DL01_after_much_work) {
  EXPECT_FATAL(thrum::run(
                   [] {
                     chan<int> const c(3);
                     for (int s = 0; s < 4; ++s) {
                       go([=] {
                         for (int i = 0; i < 1000; ++i) c.send(i);
                       });
                     }
                     for (int i = 0; i < 4001; ++i) (void)c.recv();
                   },
                   {.max_procs = 4}),
               DEADLOCK "goroutine 1 \\[waiting: chan receive\\]");
}

}  // namespace
}  // namespace thrum::test
