// The moment of letting go: a goroutine's end (T11), and primitives that a goroutine destroys as soon as they let it go
// (T14).
#include "base/atomic.h"
#include "support/baton.h"
#include "support/grave.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/seed.h"
#include "support/wait_until.h"
#include <thrum/go.h>
#include <thrum/mutex.h>
#include <thrum/once.h>
#include <thrum/runtime.h>
#include <thrum/wait_group.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include <gtest/gtest.h>

namespace thrum::test {
namespace {

THRUM_AT_WIDTHS(release_at_once, 1, 2, 8);

TEST_P(release_at_once, T14_a_wait_group_destroyed_by_its_waiter) {
  on_many(scaled(100'000, 2000), [](std::int64_t round) {
    auto const use = [round](wait_group& group) {
      group.add(2);
      go([&group, round] {
        pause(round);
        group.done();
      });
      go([&group] { group.done(); });
      pause(round / 50);
      group.wait();
    };
    if (round % 2 == 0) {
      auto const on_heap = std::make_unique<wait_group>();
      use(*on_heap);
      return true;
    }
    grave<wait_group> here;
    wait_group& group = here.make();
    use(group);
    here.destroy(group);
    yield();
    return here.is_undisturbed();
  });
}

// The mutex guards the answer to "am I the last?". The last goroutine destroys the mutex as soon as it has unlocked it.
TEST_P(release_at_once, T14_a_mutex_destroyed_by_its_last_owner) {
  on_many(scaled(100'000, 2000), [](std::int64_t round) {
    auto const use = [round](mutex& guard) {
      int users = 2;  // under guard
      baton gone;
      auto const leave = [&] {
        bool last = false;
        {
          std::lock_guard const held(guard);
          last = --users == 0;
        }
        return last;
      };
      // The last access of the other goroutine to the mutex is its unlock. It does not tell any goroutine that the
      // unlock is done.
      go([&, round] {
        pause(round);
        if (leave()) gone.pass();
      });
      pause(round / 50);
      if (!leave()) gone.take();
    };
    if (round % 2 == 0) {
      auto const on_heap = std::make_unique<mutex>();
      use(*on_heap);
      return true;
    }
    grave<mutex> here;
    mutex& guard = here.make();
    use(guard);
    here.destroy(guard);
    yield();
    return here.is_undisturbed();
  });
}

TEST_P(release_at_once, T14_a_once_destroyed_by_a_goroutine_that_waited_for_it) {
  on_many(scaled(100'000, 2000), [](std::int64_t round) {
    auto const use = [round](once& first) {
      rt::atomic<bool> it_runs{false};
      wait_group has_begun;
      has_begun.add(1);
      // The new goroutine runs the function. The current one calls while it does so, or just afterwards.
      go([&, round] {
        first.call([&] {
          it_runs.store(true, rt::relaxed);
          has_begun.done();
          pause(round);
          if (round % 8 == 0) yield();
        });
      });
      has_begun.wait();
      pause(round / 50);
      bool ours = false;
      first.call([&] { ours = true; });
      return !ours && it_runs.load(rt::relaxed);
    };
    if (round % 2 == 0) {
      auto const on_heap = std::make_unique<once>();
      return use(*on_heap);
    }
    grave<once> here;
    once& first = here.make();
    bool const ran_there = use(first);
    here.destroy(first);
    yield();
    return ran_there && here.is_undisturbed();
  });
}

// --- T11: the end of a goroutine ---

class ends : public testing::TestWithParam<int> {
 protected:
  [[nodiscard]] static int procs() { return GetParam(); }
};

THRUM_AT_EVERY_WIDTH(ends);

// Children that are already running when they are joined: their end, not a claim in place, lets the joiner go. The
// joiner takes the result and recycles the record while the child may still be on its way off its stack; the record's
// next life begins at once.
TEST_P(ends, T11_done_is_published_only_when_the_stack_is_left) {
  std::int64_t const storms = scaled(1000, 20);
  run_at(procs(), [&] {
    wait_group ended;
    for (int g = 0; g < procs(); ++g) {
      ended.go([&, mine = storms / procs() + 1] {
        for (std::int64_t storm = 0; storm < mine; ++storm) {
          constexpr std::size_t brood = 100;
          std::array<join_handle<std::uint64_t>, brood> children;
          for (std::size_t i = 0; i < brood; ++i) {
            children[i] = spawn([i] {
              char volatile frame[512];  // what the stack's next owner would overwrite
              std::memset(const_cast<char*>(frame), static_cast<int>(i), sizeof frame);
              if (i % 2 == 0) yield();
              for (char const volatile& c : frame) {
                if (c != static_cast<char>(i)) return ~std::uint64_t{0};
              }
              return std::uint64_t{i};
            });
          }
          for (int k = 0; k < 3; ++k) yield();  // most of them begin
          for (std::size_t i = 0; i < brood; ++i) ASSERT_EQ(children[i].join(), i);
        }
      });
    }
    ended.wait();
  });
}

TEST_P(ends, T11_yielders_parked_ones_and_ending_ones_alternate) {
  std::int64_t const rounds = scaled(20'000, 500);
  run_at(procs(), [&] {
    rt::atomic<bool> over{false};
    wait_group yielders;
    for (int i = 0; i < procs(); ++i) {
      yielders.go([&] {
        std::uint64_t const me = this_goroutine::id();
        while (!over.load(rt::relaxed)) {
          yield();
          ASSERT_EQ(this_goroutine::id(), me);
        }
      });
    }
    baton there;
    baton back;
    wait_group parkers;
    parkers.go([&] {
      for (std::int64_t i = 0; i < rounds; ++i) {
        there.take();
        back.pass();
      }
    });
    parkers.go([&] {
      for (std::int64_t i = 0; i < rounds; ++i) {
        there.pass();
        back.take();
        if (i % 4 == 0) {
          wait_group short_lived;
          for (int k = 0; k < 4; ++k) short_lived.go([] {});
          short_lived.wait();
        }
      }
    });
    parkers.wait();
    over.store(true, rt::relaxed);
    yielders.wait();
  });
}

// Spawned, begun, dropped or joined, recycled: with several makers the records travel between the Ps.
TEST_P(ends, T11_spawn_and_join_storms_recycle_records_and_stacks) {
  std::int64_t const each = scaled(400'000, 2000) / procs();
  std::uint64_t const seed = test_seed();
  run_at(procs(), [&] {
    wait_group ended;
    for (int g = 0; g < procs(); ++g) {
      ended.go([&, g, random = nth_random(seed, static_cast<std::uint64_t>(g))]() mutable {
        join_handle<std::int64_t> older;
        std::int64_t older_value = 0;
        for (std::int64_t i = 0; i < each; ++i) {
          auto fresh = spawn([i, g] { return i * 64 + g; });
          std::uint32_t const chance = random.below(8);
          if (chance == 0) yield();
          if (chance < 4) {
            ASSERT_EQ(fresh.join(), i * 64 + g);
          } else if (chance < 6) {
            if (older.joinable()) {
              ASSERT_EQ(older.join(), older_value);
            }
            older = std::move(fresh);
            older_value = i * 64 + g;
          }  // else it is dropped
        }
      });
    }
    ended.wait();
  });
}

}  // namespace
}  // namespace thrum::test
