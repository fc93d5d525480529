// In-place join (T07): a child that has not started runs on its joiner's stack. The program cannot observe a
// difference.
#include "goroutines/join_in_place.h"

#include "base/atomic.h"
#include "support/baton.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/slices.h"
#include <thrum/defer.h>
#include <thrum/go.h>
#include <thrum/local.h>
#include <thrum/runtime.h>
#include <thrum/wait_group.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace thrum::test {
namespace {

THRUM_AT_EVERY_WIDTH(join_in_place);  // also for the tests of this suite in other files

int fib(int n) {
  if (n < 2) return n;
  auto left = spawn(fib, n - 1);
  int const right = fib(n - 2);
  return left.join() + right;
}

TEST_P(join_in_place, T07_fib_by_spawn_and_join) {
  run([&] {
    EXPECT_EQ(fib(0), 0);
    EXPECT_EQ(fib(1), 1);
    int const n = scaled(25) >= 25 ? 25 : 18;
    EXPECT_EQ(fib(n), n == 25 ? 75'025 : 2'584);
    if (procs() == 1) {
      EXPECT_GT(joined_in_place(), 1000U) << "nothing of this was joined in place";
    }
  });
}

std::int64_t chain(std::int64_t depth) {
  if (depth == 0) return 0;
  return 1 + spawn(chain, depth - 1).join();
}

// A stack takes some hundred hosts; then a child gets one of its own.
TEST_P(join_in_place, T07_ten_thousand_joins_deep) {
  run([&] {
    std::int64_t const depth = rt::with_tsan ? 1'000 : 10'000;
    EXPECT_EQ(chain(depth), depth);
    EXPECT_EQ(chain(depth), depth);
    EXPECT_EQ(spawn(chain, depth).join(), depth);
  });
}

TEST_P(join_in_place, T07_results_and_exceptions_come_out) {
  run([&] {
    int variable = 1;
    for (int late = 0; late < 2; ++late) {  // claimed in place; or begun by itself
      auto const settle = [late] {
        for (int i = 0; i < 10 * late; ++i) yield();
      };
      auto number = spawn([] { return 42; });
      auto text = spawn([](std::string s) { return s + "!"; }, std::string(100, 'x'));
      auto only_movable = spawn([p = std::make_unique<int>(7)]() mutable { return std::move(p); });
      auto reference = spawn([&]() -> int& { return variable; });
      auto nothing = spawn([] {});
      auto error = spawn([]() -> int { throw std::out_of_range("far out"); });
      auto no_std_error = spawn([]() -> int { throw 17; });
      settle();
      EXPECT_EQ(number.join(), 42);
      EXPECT_EQ(text.join(), std::string(100, 'x') + "!");
      EXPECT_EQ(*only_movable.join(), 7);
      EXPECT_EQ(&reference.join(), &variable);
      nothing.join();
      try {
        error.join();
        ADD_FAILURE() << "the exception is lost";
      } catch (std::out_of_range const& e) {
        EXPECT_STREQ(e.what(), "far out");
      }
      try {
        no_std_error.join();
        ADD_FAILURE() << "the exception is lost";
      } catch (int value) {
        EXPECT_EQ(value, 17);
      }
      EXPECT_FALSE(number.joinable());
      EXPECT_THROW(number.join(), std::logic_error);
    }
    join_handle<int> empty;
    EXPECT_FALSE(empty.joinable());
    EXPECT_FALSE(empty.done());
    EXPECT_THROW(empty.join(), std::logic_error);
  });
}

// Main leaves the first thread for good when it first waits, so a child that waits on main's stack continues on another
// thread.
TEST(join_in_place_at_P1, T07_a_hosted_child_parks_and_comes_back_on_another_M) {
  delays_only const quiet;
  run_at(1, [] {
    baton b;
    go([&] { b.pass(); });
    auto child = spawn([&] {
      EXPECT_TRUE(is_hosted());
      char here = 0;
      auto const address = reinterpret_cast<std::uintptr_t>(&here);
      std::uint64_t const me = this_goroutine::id();
      int const m_before = m_id();
      b.take();
      EXPECT_TRUE(is_hosted());
      EXPECT_NE(m_id(), m_before);
      EXPECT_EQ(this_goroutine::id(), me);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&here), address);
      return m_id();
    });
    std::uint64_t const me = this_goroutine::id();
    int const m_before = m_id();
    int const childs_m = child.join();
    EXPECT_EQ(m_id(), childs_m);
    EXPECT_NE(m_id(), m_before);
    EXPECT_EQ(this_goroutine::id(), me);
    EXPECT_EQ(joined_in_place(), 1U);
  });
}

// The same by chance, many times: hosts and children wander.
TEST_P(join_in_place, T07_hosts_and_hosted_wander_between_Ms) {
  run([&] {
    rt::atomic<int> moved{0};
    rt::atomic<int> hosted{0};
    std::int64_t const rounds = scaled(2000, 100);
    wait_group ended;
    for (int g = 0; g < 4; ++g) {
      ended.go([&] {
        for (std::int64_t round = 0; round < rounds; ++round) {
          baton b;
          go([&b, round] {
            for (std::int64_t i = round % 3; i > 0; --i) yield();
            b.pass();
          });
          for (std::int64_t i = round % 200; i > 0; --i) rt::cpu_relax();  // it may be stolen meanwhile
          auto child = spawn([&] {
            std::uint64_t const me = this_goroutine::id();
            int const m_before = m_id();
            b.take();
            if (is_hosted()) hosted.fetch_add(1, rt::relaxed);
            if (m_id() != m_before) moved.fetch_add(1, rt::relaxed);
            return me == this_goroutine::id() ? me : 0;
          });
          std::uint64_t const me = this_goroutine::id();
          std::uint64_t const child_id = child.join();
          ASSERT_NE(child_id, 0U);
          ASSERT_NE(child_id, me);
          ASSERT_EQ(this_goroutine::id(), me);
        }
      });
    }
    ended.wait();
    EXPECT_GT(hosted.load(rt::relaxed), 0);
    RecordProperty("hosted", hosted.load(rt::relaxed));
    RecordProperty("moved", moved.load(rt::relaxed));
  });
}

TEST_P(join_in_place, T07_goexit_of_a_hosted_child_stops_at_its_base_frame) {
  run([&] {
    std::string order;
    {
      defer const hosts = [&] { order += " host's"; };
      auto child = spawn([&] {
        defer const outer = [&] { order += " outer"; };
        [&] {
          defer const inner = [&] { order += " inner"; };
          goexit();
        }();
        order += " never";
      });
      EXPECT_THROW(child.join(), goroutine_exited);
      order += " after";
      EXPECT_FALSE(child.joinable());
    }
    EXPECT_EQ(order, " inner outer after host's");

    // Also when it waited in between, and when a hosted child of the child leaves.
    baton b;
    go([&] { b.pass(); });
    auto child = spawn([&] {
      auto grandchild = spawn([&]() -> int {
        b.take();
        goexit();
      });
      EXPECT_THROW(grandchild.join(), goroutine_exited);
      return 5;
    });
    EXPECT_EQ(child.join(), 5);
    // The host's own goexit passes the frames of its joins.
    auto host = spawn([&] {
      spawn([] { return 1; }).join();
      goexit();
    });
    EXPECT_THROW(host.join(), goroutine_exited);
  });
}

TEST_P(join_in_place, T07_ids_names_and_locals_are_the_childs_inside_and_the_hosts_after) {
  run([&] {
    local<std::string> whose;
    this_goroutine::set_name("host");
    *whose = "host's";
    std::uint64_t const me = this_goroutine::id();
    auto child = spawn([&] {
      EXPECT_NE(this_goroutine::id(), me);
      EXPECT_EQ(this_goroutine::name(), "");
      EXPECT_EQ(*whose, "");
      this_goroutine::set_name("child");
      *whose = "child's";
      auto grandchild = spawn([&] {
        EXPECT_EQ(this_goroutine::name(), "");
        EXPECT_EQ(*whose, "");
        *whose = "grandchild's";
        return this_goroutine::id();
      });
      EXPECT_NE(grandchild.join(), this_goroutine::id());
      EXPECT_EQ(this_goroutine::name(), "child");
      EXPECT_EQ(*whose, "child's");
      return this_goroutine::id();
    });
    EXPECT_NE(child.join(), me);
    EXPECT_EQ(this_goroutine::id(), me);
    EXPECT_EQ(this_goroutine::name(), "host");
    EXPECT_EQ(*whose, "host's");
  });
}

TEST_P(join_in_place, T07_a_childs_locals_are_gone_when_join_returns) {
  static int alive = 0;
  struct counted {
    counted() { ++alive; }
    ~counted() { --alive; }
  };
  run([&] {
    alive = 0;
    local<counted> each;
    auto child = spawn([&] {
      static_cast<void>(*each);
      EXPECT_EQ(alive, 1);
    });
    child.join();
    EXPECT_EQ(alive, 0);
    auto leaver = spawn([&] {
      static_cast<void>(*each);
      goexit();
    });
    EXPECT_THROW(leaver.join(), goroutine_exited);
    EXPECT_EQ(alive, 0);
  });
}

[[gnu::noinline]] int touch(std::size_t bytes) {
  constexpr std::size_t step = 1024;
  char volatile frame[step];
  frame[0] = 1;
  frame[step - 1] = 2;
  return bytes <= step ? frame[0] : touch(bytes - step) + frame[step - 1] - 2;
}

TEST_P(join_in_place, T07_a_child_with_a_larger_stack_of_its_own_is_not_hosted) {
  run([&] {
    auto large = spawn(stack_size{std::size_t{8} << 20U}, [] {
      EXPECT_FALSE(is_hosted());
      return touch(std::size_t{2} << 20U);
    });
    EXPECT_EQ(large.join(), 1);
    auto small = spawn(stack_size{16 * 1024}, [] { return touch(2 * 1024); });
    EXPECT_EQ(small.join(), 1);
  });
}

// However deep its joiner stands, a child finds a full stack.
int join_from(std::size_t bytes_deep, std::size_t bytes_of_child) {
  constexpr std::size_t step = 1024;
  char volatile frame[step];
  frame[step - 1] = 2;
  if (bytes_deep > step) return join_from(bytes_deep - step, bytes_of_child) + frame[step - 1] - 2;
  return spawn([bytes_of_child] { return touch(bytes_of_child); }).join() + frame[step - 1] - 2;
}

TEST_P(join_in_place, T07_a_child_finds_a_full_stack_however_deep_its_joiner_stands) {
  run([&] {
    constexpr std::size_t most = 100 * 1024;  // of 256 KiB: the sanitizers make frames larger
    for (std::size_t deep = 1024; deep <= most; deep += 9 * 1024) EXPECT_EQ(join_from(deep, most), 1);
  });
}

}  // namespace
}  // namespace thrum::test
