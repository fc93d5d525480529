// Contexts with a deadline or with an after_func, cancelled by a goroutine that an earlier run has left behind (T12),
// or by a foreign thread whose run ends at that moment (S38). The caller returns, and everything below the context
// learns of the cancellation.
#include "core/current.h"
#include "core/sched.h"
#include "support/dismissed_thread.h"
#include "support/goroutines.h"
#include "support/kept.h"
#include "support/run_at.h"
#include "support/straggler.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <system_error>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using test::act_as_run_ends;
using test::kept;
using test::run_at;
using test::wait_until;

class canceled_by_one_left_behind : public test::with_straggler {};
THRUM_WITH_EACH_STRAGGLER(canceled_by_one_left_behind);

TEST_P(canceled_by_one_left_behind, T12_a_context_with_a_deadline_tells_its_children_and_stops_its_timer) {
  run_at(2, [this] {
    auto& parent = kept<cancelable>(with_timeout(context::background(), 1h));
    auto& child = kept<cancelable>(with_cancel(parent.ctx));
    auto& is_told = kept<std::atomic<bool>>(false);
    go([&] {
      static_cast<void>(child.ctx.done().recv());
      is_told = true;
    });
    ASSERT_TRUE(wait_until([] { return test::waiting_for(rt::wait_reason::chan_receive) == 1; }));
    EXPECT_EQ(test::timers_pending(), 1U);
    EXPECT_TRUE(other.does([&parent] { parent.cancel(); })) << "it has not come back";
    EXPECT_TRUE(wait_until([&] { return is_told.load(); }));
    EXPECT_EQ(test::timers_pending(), 0U);
  });
}

// It goes on for good, also if sysmon has asked for its P while its run was alive.
TEST(canceled_by_one_whose_slice_is_over, T12_a_context_with_a_deadline_tells_its_children) {
  struct shared {
    std::atomic<rt::M*> m{nullptr};
    std::atomic<cancelable*> to_cancel{nullptr};
    std::atomic<bool> has_come_back{false};
  };
  auto& its = kept<shared>();
  test::run_with({.max_procs = 2, .async_preemption = false}, [&its] {
    go([&its] {
      its.m = rt::current_m();
      while (its.to_cancel == nullptr) rt::cpu_relax();
      its.to_cancel.load()->cancel();
      its.has_come_back = true;
      kept<semaphore>(0).acquire();
    });
    ASSERT_TRUE(wait_until([&its] { return its.m != nullptr; }));
    for (int i = 0; i < 1000; ++i) go([] {});  // they want its P
    auto const is_asked = [&its] { return (its.m.load()->attention.load(rt::relaxed) & rt::m_attend::pause) != 0; };
    ASSERT_TRUE(test::spin_until(is_asked));
  });
  run_at(2, [&its] {
    auto& parent = kept<cancelable>(with_timeout(context::background(), 1h));
    auto& child = kept<cancelable>(with_cancel(parent.ctx));
    its.to_cancel = &parent;
    EXPECT_TRUE(wait_until([&its] { return its.has_come_back.load(); })) << "it has not come back";
    EXPECT_TRUE(child.ctx.err());
  });
}

TEST_P(canceled_by_one_left_behind, T12_a_context_with_a_deadline_may_be_destroyed_there) {
  run_at(2, [this] {
    auto& last = kept<std::optional<cancelable>>(with_timeout(context::background(), 1h));
    EXPECT_TRUE(other.does([&last] { last.reset(); })) << "it has not come back";
    EXPECT_EQ(test::timers_pending(), 0U);
  });
}

TEST_P(canceled_by_one_left_behind, T12_the_function_of_after_func_runs_in_the_run_that_is_alive) {
  run_at(2, [this] {
    auto& made = kept<cancelable>(with_cancel(context::background()));
    auto& called_in = kept<std::atomic<std::uint32_t>>(0U);
    auto const call = after_func(made.ctx, [&called_in] {
      yield();  // it is on a goroutine
      called_in = rt::current_m()->sched.epoch;
    });
    EXPECT_TRUE(other.does([&made] { made.cancel(); })) << "it has not come back";
    EXPECT_TRUE(wait_until([&] { return called_in != 0; }));
    EXPECT_EQ(called_in, test::this_sched().epoch);
  });
}

TEST_P(canceled_by_one_left_behind, T12_without_a_run_the_function_of_after_func_is_called_directly) {
  auto& made = kept<cancelable>(with_cancel(context::background()));
  auto& is_called = kept<std::atomic<bool>>(false);
  auto const call = after_func(made.ctx, [&is_called] { is_called = true; });
  EXPECT_TRUE(other.does([&made] { made.cancel(); })) << "it has not come back";
  EXPECT_TRUE(is_called);
}

TEST(canceled_as_run_ends, S38_a_context_with_a_deadline_tells_its_children) {
  auto& parent = kept<std::optional<cancelable>>();
  auto& child = kept<std::optional<cancelable>>();
  act_as_run_ends(
      [&] {
        parent = with_timeout(context::background(), 1h);
        child = with_cancel(parent->ctx);
      },
      [&] { parent->cancel(); });
  EXPECT_TRUE(child->ctx.err());
}

TEST(canceled_as_run_ends, S38_a_context_with_a_deadline_may_be_destroyed) {
  auto& last = kept<std::optional<cancelable>>();
  act_as_run_ends([&] { last = with_timeout(context::background(), 1h); }, [&] { last.reset(); });
}

TEST(canceled_as_run_ends, S38_the_function_of_after_func_is_called) {
  auto& made = kept<cancelable>(with_cancel(context::background()));
  auto& is_called = kept<std::atomic<bool>>(false);
  auto const call = after_func(made.ctx, [&is_called] { is_called = true; });
  act_as_run_ends([] {}, [&] { made.cancel(); });
  EXPECT_TRUE(is_called);
}

// The siblings: calls that release something, and have nothing to wait for.
TEST(released_as_run_ends, S38_the_handle_of_a_goroutine_may_be_dropped) {
  auto& handle = kept<std::optional<join_handle<int>>>();
  act_as_run_ends([&] { handle = spawn([] { return 1; }); }, [&] { handle.reset(); });
}

TEST(released_as_run_ends, S38_a_descriptor_for_which_a_goroutine_waits_may_be_closed) {
  auto& reader = kept<std::optional<fd>>();
  act_as_run_ends(
      [&] {
        int ends[2]{};
        ASSERT_EQ(::pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
        std::error_code error;
        reader.emplace(ends[0], error);
        go([&reader] {
          char byte = 0;
          std::error_code failed;
          static_cast<void>(reader->read_some({&byte, 1}, failed));
        });
        ASSERT_TRUE(wait_until([] { return test::waiting_for(rt::wait_reason::io) == 1; }));
      },
      [&] {
        std::error_code error;
        reader->close(error);
      });
}

}  // namespace
}  // namespace thrum
