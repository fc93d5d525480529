// group: structured concurrency.
#include "base/atomic.h"
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unwind.h>

namespace thrum::test {
namespace {

std::string message_of(std::exception_ptr const& error) {
  try {
    if (error != nullptr) std::rethrow_exception(error);
  } catch (std::exception const& e) {
    return e.what();
  }
  return "";
}

// What wait() throws.
std::string wait_for(group& members) {
  try {
    members.wait();
  } catch (std::exception const& e) {
    return e.what();
  }
  return "";
}

void wait_for_cancel(group const& members) { EXPECT_EQ(members.context().done().recv(), std::nullopt); }

class groups : public at_every_width {};
THRUM_AT_EVERY_WIDTH(groups);

TEST_P(groups, wait_returns_when_all_have_ended) {
  run([] {
    for (int round = 0; round < 50; ++round) {
      std::vector<int> squares(100);  // written without atomics: wait() orders them
      group members;
      for (int i = 0; i < 100; ++i) {
        members.go([&squares, i] { squares[static_cast<std::size_t>(i)] = i * i; });
      }
      members.wait();
      for (int i = 0; i < 100; ++i) ASSERT_EQ(squares[static_cast<std::size_t>(i)], i * i);
      EXPECT_FALSE(members.context().err());
    }
  });
}

TEST_P(groups, the_first_exception_cancels_the_rest_and_is_rethrown) {
  run([] {
    group members;
    for (int i = 0; i < 10; ++i) {
      members.go([&] {
        wait_for_cancel(members);
        throw std::runtime_error("late");
      });
    }
    members.go([] { throw std::runtime_error("first"); });
    EXPECT_EQ(wait_for(members), "first");
    EXPECT_EQ(members.context().err(), context_errc::canceled);
    EXPECT_EQ(message_of(members.context().cause()), "first");
    EXPECT_EQ(wait_for(members), "first") << "each time";
  });
}

TEST_P(groups, are_cancelled_with_their_parent) {
  run([] {
    auto const parent = with_cancel(context::background());
    group members(parent.ctx);
    rt::atomic<int> ended{0};
    for (int i = 0; i < 10; ++i) {
      members.go([&] {
        wait_for_cancel(members);
        ended.fetch_add(1, rt::relaxed);
      });
    }
    parent.cancel(std::runtime_error("enough"));
    EXPECT_EQ(wait_for(members), "") << "no member has failed";
    EXPECT_EQ(ended.load(rt::relaxed), 10);
    EXPECT_EQ(message_of(members.context().cause()), "enough");
  });
}

TEST_P(groups, cancel_ends_them_without_an_exception) {
  run([] {
    group members;
    members.go([&] { wait_for_cancel(members); });
    members.cancel();
    EXPECT_EQ(wait_for(members), "");
  });
}

TEST_P(groups, the_parent_is_not_touched) {
  run([] {
    auto const parent = with_cancel(context::background());
    {
      group members(parent.ctx);
      members.go([] { throw std::runtime_error("it"); });
      EXPECT_EQ(wait_for(members), "it");
    }
    EXPECT_FALSE(parent.ctx.err());
  });
}

TEST_P(groups, no_member_outlives_the_scope) {
  run([] {
    rt::atomic<int> ended{0};
    context outlives;
    {
      group members;
      outlives = members.context();
      for (int i = 0; i < 50; ++i) {
        members.go([&ended] {
          for (int k = 0; k < 5; ++k) yield();
          ended.fetch_add(1, rt::relaxed);
        });
      }
      EXPECT_FALSE(outlives.err());
    }
    EXPECT_EQ(ended.load(rt::relaxed), 50);
    EXPECT_EQ(outlives.err(), context_errc::canceled) << "what was made from it ends with the group";
  });
}

TEST_P(groups, a_scope_left_by_an_exception_cancels_and_waits) {
  run([] {
    int ended = 0;
    try {
      group members;
      members.go([&] {
        wait_for_cancel(members);
        for (int k = 0; k < 5; ++k) yield();
        ++ended;
      });
      throw std::runtime_error("out");
    } catch (std::runtime_error const& e) {
      EXPECT_STREQ(e.what(), "out");
      EXPECT_EQ(ended, 1);
    }
  });
}

TEST_P(groups, a_scope_left_by_goexit_cancels_and_waits) {
  run([] {
    int ended = 0;
    auto owner = spawn([&] {
      group members;
      members.go([&] {
        wait_for_cancel(members);
        for (int k = 0; k < 5; ++k) yield();
        ++ended;
      });
      goexit();
    });
    EXPECT_THROW(owner.join(), goroutine_exited);
    EXPECT_EQ(ended, 1);
  });
}

// A group that lives and dies while its goroutine is being unwound is a group like any other.
TEST_P(groups, inside_a_destructor_members_are_not_cancelled) {
  struct worker {
    bool& was_canceled;
    ~worker() {
      group members;
      members.go([&] {
        for (int k = 0; k < 5; ++k) yield();
        was_canceled = static_cast<bool>(members.context().err());
      });
    }
  };
  run([] {
    bool was_canceled = true;
    try {
      worker const unwound{was_canceled};
      throw std::runtime_error("out");
    } catch (std::runtime_error const&) {
      EXPECT_FALSE(was_canceled);
    }
    was_canceled = true;
    auto owner = spawn([&] {
      worker const unwound{was_canceled};
      goexit();
    });
    EXPECT_THROW(owner.join(), goroutine_exited);
    EXPECT_FALSE(was_canceled);
  });
}

TEST_P(groups, a_member_that_leaves_by_goexit_has_ended) {
  run([] {
    group members;
    members.limit(2);
    for (int i = 0; i < 20; ++i) {
      members.go([&] {
        defer const seen = [&] { EXPECT_EQ(std::current_exception(), nullptr); };
        goexit();
      });
    }
    EXPECT_EQ(wait_for(members), "");
    EXPECT_FALSE(members.context().err());
  });
}

TEST_P(groups, at_most_so_many_at_once) {
  run([] {
    for (std::int64_t const limit : {1, 2, 7}) {
      rt::atomic<std::int64_t> active{0};
      rt::atomic<std::int64_t> most{0};
      group members;
      members.limit(static_cast<std::size_t>(limit));
      for (std::int64_t i = 0; i < scaled(300, 50); ++i) {
        members.go([&] {
          std::int64_t const now = active.fetch_add(1, rt::relaxed) + 1;
          std::int64_t seen = most.load(rt::relaxed);
          while (seen < now && !most.compare_exchange_weak(seen, now, rt::relaxed, rt::relaxed)) {
          }
          for (int k = 0; k < 3; ++k) yield();
          active.fetch_sub(1, rt::relaxed);
        });
      }
      members.wait();
      EXPECT_LE(most.load(rt::relaxed), limit);
      EXPECT_EQ(active.load(rt::relaxed), 0);
    }
  });
}

TEST_P(groups, try_go_does_not_wait) {
  run([] {
    chan<int> gate;
    group members;
    members.limit(2);
    auto const member = [&] { static_cast<void>(gate.recv()); };
    EXPECT_TRUE(members.try_go(member));
    EXPECT_TRUE(members.try_go(member));
    EXPECT_FALSE(members.try_go(member));
    members.limit(group::unlimited);
    EXPECT_TRUE(members.try_go(member));
    members.limit(1);
    EXPECT_TRUE(members.try_go(member)) << "the earlier ones do not count";
    EXPECT_FALSE(members.try_go(member));
    gate.close();
    members.wait();
    EXPECT_TRUE(members.try_go(member));
  });
}

TEST_P(groups, members_may_add_members) {
  run([] {
    group members;
    rt::atomic<int> ran{0};
    std::function<void(int)> const grow = [&](int depth) {
      ran.fetch_add(1, rt::relaxed);
      if (depth == 0) return;
      members.go([&, depth] { grow(depth - 1); });
      members.go([&, depth] { grow(depth - 1); });
    };
    members.go([&] { grow(7); });
    members.wait();
    EXPECT_EQ(ran.load(rt::relaxed), 255);
  });
}

TEST_P(groups, may_be_used_again_after_wait) {
  run([] {
    group members;
    int ran = 0;
    for (int round = 0; round < 20; ++round) {
      members.go([&] { ++ran; });
      members.wait();
      EXPECT_EQ(ran, round + 1);
    }
  });
}

TEST_P(groups, of_groups) {
  run([] {
    rt::atomic<int> cancelled{0};
    group outer;
    for (int i = 0; i < 5; ++i) {
      outer.go([&] {
        group inner(outer.context());
        for (int k = 0; k < 5; ++k) {
          inner.go([&] {
            wait_for_cancel(inner);
            cancelled.fetch_add(1, rt::relaxed);
          });
        }
        inner.wait();
      });
    }
    outer.go([] { throw std::runtime_error("deep"); });
    EXPECT_EQ(wait_for(outer), "deep");
    EXPECT_EQ(cancelled.load(rt::relaxed), 25);
  });
}

TEST_P(groups, what_a_member_holds_is_gone_when_wait_returns) {
  run([] {
    for (std::int64_t round = 0; round < scaled(1000, 50); ++round) {
      auto const held = std::make_shared<int>(1);
      group members;
      for (int i = 0; i < 3; ++i) members.go([held] { yield(); });
      members.wait();
      ASSERT_EQ(held.use_count(), 1);
    }
  });
}

TEST_P(groups, T14_may_be_destroyed_as_soon_as_wait_returns) {
  run([] {
    for (std::int64_t round = 0; round < scaled(5000, 200); ++round) {
      auto members = std::make_unique<group>();
      if (round % 2 == 0) members->limit(2);
      for (std::int64_t i = 0; i < round % 4; ++i) members->go([] {});
      if (round % 3 == 0) members->wait();
      members.reset();
    }
  });
}

TEST(group_errors, are_told_where_they_are_made) {
  run_at(1, [] {
    group members;
    EXPECT_THROW(members.limit(0), std::invalid_argument);
    EXPECT_THROW(members.go(std::function<void()>()), std::invalid_argument);
    members.limit(1);
    EXPECT_THROW(members.go(std::function<void()>()), std::invalid_argument);
    members.go([] {});  // the place is still there
    members.wait();
  });
}

TEST(group_errors, outside_a_goroutine_nothing_can_be_started) {
  group members;
  EXPECT_THROW(members.go([] {}), std::logic_error);
  members.wait();
}

void* place_of_creation() { return this_g().task.created_at; }

[[gnu::noinline]] void start_members(group& members, wait_group& counted, void* (&places)[3]) {
  members.go([&places] { places[0] = place_of_creation(); });
  EXPECT_TRUE(members.try_go([&places] { places[1] = place_of_creation(); }));
  counted.go([&places] { places[2] = place_of_creation(); });
  asm volatile("" ::: "memory");  // the last call is no jump
}

// Also where the compiler does not optimise, as in this file.
TEST(group_members, are_created_in_the_function_that_calls_go) {
  run_at(2, [] {
    void* places[3] = {};
    group members;
    wait_group counted;
    start_members(members, counted, places);
    members.wait();
    counted.wait();
    for (void* const place : places) {
      EXPECT_EQ(_Unwind_FindEnclosingFunction(place), reinterpret_cast<void*>(&start_members));
    }
  });
}

}  // namespace
}  // namespace thrum::test
