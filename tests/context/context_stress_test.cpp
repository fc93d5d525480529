// Contexts that many cancel, ask and leave at once (CX-04, CX-08).
#include "base/atomic.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/seed.h"
#include <thrum/chan.h>
#include <thrum/context.h>
#include <thrum/go.h>
#include <thrum/select.h>
#include <thrum/wait_group.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace thrum::test {
namespace {

class context_stress : public at_every_width {};
THRUM_AT_EVERY_WIDTH(context_stress);

bool is_done(context const& ctx) {
  return ctx.err() == context_errc::canceled && ctx.done().try_recv().closed && ctx.get_stop_token().stop_requested();
}

// A complete tree, parents before children: node i hangs on node (i - 1) / 3.
std::vector<cancelable> tree_of(std::size_t size) {
  std::vector<cancelable> tree{with_cancel(context::background())};
  while (tree.size() < size) tree.push_back(with_cancel(tree[(tree.size() - 1) / 3].ctx));
  return tree;
}

TEST_P(context_stress, CX04_a_tree_cancelled_by_as_many_goroutines_at_once_ends_everywhere) {
  std::uint64_t const seed = test_seed();
  run([&] {
    for (std::int64_t round = 0; round < scaled(500, 10); ++round) {
      constexpr std::size_t size = 120;
      auto const tree = tree_of(size);
      wait_group waiters;
      for (auto const& node : tree) {
        waiters.go([&] { static_cast<void>(node.ctx.done().recv()); });
      }
      wait_group cancelers;
      for (std::size_t i = 0; i < size; ++i) {
        cancelers.go([&, i, random = nth_random(seed, static_cast<std::uint64_t>(round) * size + i)]() mutable {
          if (random.below(2) == 0) yield();
          tree[i].cancel();
          // Also for one that came second: everything below is done.
          for (std::size_t below = i; below < size; ++below) {
            for (std::size_t above = below;; above = (above - 1) / 3) {
              if (above == i) {
                ASSERT_TRUE(is_done(tree[below].ctx)) << below << " below " << i;
              }
              if (above == 0) break;
            }
          }
        });
      }
      waiters.wait();
      cancelers.wait();
    }
  });
}

// Go's TestInterlockedCancels: two trees that cancel each other.
TEST_P(context_stress, CX04_contexts_that_cancel_each_other) {
  run([] {
    for (std::int64_t round = 0; round < scaled(5000, 100); ++round) {
      auto const left = with_cancel(context::background());
      auto const right = with_cancel(context::background());
      auto const below_left = with_cancel(left.ctx);
      auto const below_right = with_cancel(right.ctx);
      std::stop_callback const one(below_left.ctx.get_stop_token(), [&] { right.cancel(); });
      std::stop_callback const other(below_right.ctx.get_stop_token(), [&] { left.cancel(); });
      wait_group all;
      all.go([&] { static_cast<void>(below_left.ctx.done().recv()); });
      all.go([&] { static_cast<void>(below_right.ctx.done().recv()); });
      all.go([&] { left.cancel(); });
      if (round % 2 == 0) all.go([&] { right.cancel(); });
      all.wait();
      EXPECT_TRUE(is_done(left.ctx) && is_done(right.ctx));
    }
  });
}

TEST_P(context_stress, CX08_once_the_error_reads_set_the_channel_is_closed_and_the_other_way_round) {
  run([] {
    for (std::int64_t round = 0; round < scaled(10'000, 300); ++round) {
      auto const one = with_cancel(context::background());
      wait_group all;
      all.go([&] {
        std::error_code seen;
        while (!(seen = one.ctx.err())) yield();
        ASSERT_TRUE(one.ctx.done().try_recv().closed);
        ASSERT_NE(one.ctx.cause(), nullptr);
      });
      all.go([&] {
        while (!one.ctx.done().try_recv().closed) yield();
        ASSERT_EQ(one.ctx.err(), context_errc::canceled);
      });
      all.go([&] {
        static_cast<void>(one.ctx.done().recv());
        ASSERT_EQ(one.ctx.err(), context_errc::canceled);
      });
      all.go([&] { one.cancel(); });
      all.wait();
    }
  });
}

// While the tree is cancelled from above others enter it, leave it, ask it, and drop parts of it.
TEST_P(context_stress, CX04_entering_and_leaving_beside_a_cancellation) {
  std::uint64_t const seed = test_seed();
  std::int64_t const rounds = scaled(2000, 50);
  run([&] {
    for (std::int64_t round = 0; round < rounds; ++round) {
      auto const top = with_cancel(context::background());
      wait_group all;
      rt::atomic<int> called{0};
      rt::atomic<int> stopped{0};
      constexpr int users = 8;
      constexpr int steps = 20;
      for (int user = 0; user < users; ++user) {
        all.go([&, random = nth_random(seed, static_cast<std::uint64_t>(round * users + user))]() mutable {
          std::vector<cancelable> mine;
          auto callback = after_func(top.ctx, [&] { called.fetch_add(1, rt::release); });
          for (int step = 0; step < steps; ++step) {
            context const parent =
                mine.empty() ? top.ctx : mine[random.below(static_cast<std::uint32_t>(mine.size()))].ctx;
            switch (random.below(6)) {
              case 0: mine.push_back(with_cancel(parent)); break;
              case 1: mine.push_back(with_cancel(with_value(parent, step))); break;
              case 2:
                if (!mine.empty()) mine.erase(mine.begin() + random.below(static_cast<std::uint32_t>(mine.size())));
                break;
              case 3:
                if (!mine.empty()) mine.back().cancel();
                break;
              case 4: static_cast<void>(parent.done().try_recv()); break;
              default: yield();
            }
          }
          if (callback.stop()) stopped.fetch_add(1, rt::release);
          static_cast<void>(top.ctx.done().recv());
          top.cancel();
          for (auto const& node : mine) ASSERT_TRUE(is_done(node.ctx));
        });
      }
      all.go([&, random = nth_random(seed, static_cast<std::uint64_t>(round))]() mutable {
        for (std::uint32_t i = random.below(20); i > 0; --i) yield();
        top.cancel();
      });
      all.wait();
      while (called.load(rt::acquire) + stopped.load(rt::acquire) != users) yield();
    }
  });
}

}  // namespace
}  // namespace thrum::test
