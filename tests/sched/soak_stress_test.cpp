// Random programs of everything that goroutines can do, with the outcome known beforehand.
//
// A program is a tree that its seed determines: each node is a goroutine with a list of steps. The model walks the same
// tree without any scheduler and counts what must have happened when all is over.
#include "base/atomic.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/seed.h"
#include "support/wait_until.h"
#include <thrum/defer.h>
#include <thrum/go.h>
#include <thrum/local.h>
#include <thrum/mutex.h>
#include <thrum/once.h>
#include <thrum/runtime.h>
#include <thrum/wait_group.h>

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <ostream>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

namespace thrum::test {
namespace {

enum class step : std::uint8_t {
  work,
  yield_once,
  lock_and_count,
  call_once,
  go_child,
  spawn_and_join,
  spawn_and_join_late,
  spawn_and_drop,
  throwing_child,
  exiting_child,
  wait_for_group,
  leave,
  count_
};

constexpr int depth_max = 5;
constexpr std::uint32_t steps_max = 6;

struct tally {
  std::int64_t nodes = 0;       // goroutines that began
  std::int64_t endings = 0;     // and ended, by whichever way: counted by a defer
  std::int64_t locked = 0;      // times a mutex was held
  std::int64_t once = 0;        // functions that ran under a once
  std::int64_t exceptions = 0;  // that came out of a join
  std::int64_t exits = 0;       // joins that reported a goexit

  bool operator==(tally const&) const = default;
};

void PrintTo(tally const& t, std::ostream* out) {
  *out << "nodes " << t.nodes << ", endings " << t.endings << ", locked " << t.locked << ", once " << t.once
       << ", exceptions " << t.exceptions << ", exits " << t.exits;
}

// What a child does apart from its steps.
enum class fate : std::uint8_t { returns, throws, exits };

struct node_plan {
  rt::random_source random;
  std::uint32_t steps;

  explicit node_plan(std::uint64_t seed) : random(seed), steps(1) { steps = 1 + random.below(steps_max); }
  step next_step(int depth) {
    auto const chosen = static_cast<step>(random.below(static_cast<std::uint32_t>(step::count_)));
    // At the greatest depth there are no children. At the root no goroutine leaves early.
    if (depth >= depth_max && chosen >= step::go_child && chosen <= step::wait_for_group) return step::work;
    if (depth == 0 && chosen == step::leave) return step::spawn_and_join;
    return chosen;
  }
};

constexpr std::uint32_t group_size = 3;

// --- the model ---

void model(std::uint64_t seed, int depth, tally& out) {
  node_plan plan(seed);
  ++out.nodes;
  ++out.endings;
  for (std::uint32_t i = 0; i < plan.steps; ++i) {
    switch (plan.next_step(depth)) {
      case step::work:
      case step::yield_once: break;
      case step::lock_and_count: ++out.locked; break;
      case step::call_once: ++out.once; break;
      case step::go_child:
      case step::spawn_and_join:
      case step::spawn_and_join_late:
      case step::spawn_and_drop: model(plan.random.next(), depth + 1, out); break;
      case step::throwing_child:
        model(plan.random.next(), depth + 1, out);
        ++out.exceptions;
        break;
      case step::exiting_child:
        model(plan.random.next(), depth + 1, out);
        ++out.exits;
        break;
      case step::wait_for_group:
        for (std::uint32_t k = 0; k < group_size; ++k) model(plan.random.next(), depth + 1, out);
        break;
      case step::leave: return;
      case step::count_: break;
    }
  }
}

// --- the program ---

struct shared {
  rt::atomic<std::int64_t> nodes{0};
  rt::atomic<std::int64_t> endings{0};
  rt::atomic<std::int64_t> once{0};
  rt::atomic<std::int64_t> exceptions{0};
  rt::atomic<std::int64_t> exits{0};
  rt::atomic<std::int64_t> faults{0};  // whatever must never be
  std::array<mutex, 4> guards;
  std::array<std::int64_t, 4> locked{};  // each under its guard
  local<std::uint64_t> whose;
  wait_group children;  // the children that are not joined

  static void add(rt::atomic<std::int64_t>& counter) { counter.fetch_add(1, rt::relaxed); }  // read when all is over
};

struct expected_error : std::runtime_error {
  expected_error() : std::runtime_error("as planned") {}
};

std::uint64_t node(shared& all, std::uint64_t seed, int depth, fate how);

void take_step(shared& all, step what, std::uint64_t argument, int depth) {
  switch (what) {
    case step::work:
      for (std::uint64_t i = argument % 64; i > 0; --i) rt::cpu_relax();
      break;
    case step::yield_once: yield(); break;
    case step::lock_and_count: {
      std::size_t const which = argument % all.guards.size();
      std::lock_guard const held(all.guards[which]);
      ++all.locked[which];
      if (argument % 16 == 0) yield();
      break;
    }
    case step::call_once: {
      auto const shared_once = std::make_shared<once>();
      wait_group callers;
      for (int i = 0; i < 2; ++i) {
        callers.go([&all, shared_once, argument] {
          shared_once->call([&] {
            if (argument % 2 == 0) yield();
            shared::add(all.once);
          });
        });
      }
      callers.wait();
      break;
    }
    case step::go_child:
      all.children.go([&all, argument, depth] { node(all, argument, depth + 1, fate::returns); });
      break;
    case step::spawn_and_join:
      if (spawn(node, std::ref(all), argument, depth + 1, fate::returns).join() != argument) shared::add(all.faults);
      break;
    case step::spawn_and_join_late: {
      auto child = spawn(node, std::ref(all), argument, depth + 1, fate::returns);
      yield();
      if (child.join() != argument) shared::add(all.faults);
      break;
    }
    case step::spawn_and_drop: {
      all.children.add(1);
      auto const dropped = spawn([&all, argument, depth] {
        defer const counted = [&all] { all.children.done(); };
        return node(all, argument, depth + 1, fate::returns);
      });
      break;
    }
    case step::throwing_child:
      try {
        spawn(node, std::ref(all), argument, depth + 1, fate::throws).join();
        shared::add(all.faults);
      } catch (expected_error const&) {
        if (argument % 2 == 0) yield();
        shared::add(all.exceptions);
      }
      break;
    case step::exiting_child:
      try {
        spawn(node, std::ref(all), argument, depth + 1, fate::exits).join();
        shared::add(all.faults);
      } catch (goroutine_exited const&) {
        shared::add(all.exits);
      }
      break;
    default: shared::add(all.faults); break;
  }
}

std::uint64_t node(shared& all, std::uint64_t seed, int depth, fate how) {
  node_plan plan(seed);
  shared::add(all.nodes);
  defer const ending = [&all] { shared::add(all.endings); };
  if (*all.whose != 0) shared::add(all.faults);  // a goroutine's locals begin empty
  std::uint64_t const me = this_goroutine::id();
  *all.whose = me;
  for (std::uint32_t i = 0; i < plan.steps; ++i) {
    step const what = plan.next_step(depth);
    if (what == step::leave) break;
    if (what == step::wait_for_group) {
      wait_group members;
      for (std::uint32_t k = 0; k < group_size; ++k) {
        members.go([&all, its_seed = plan.random.next(), depth] { node(all, its_seed, depth + 1, fate::returns); });
      }
      members.wait();
    } else if (what >= step::go_child) {
      take_step(all, what, plan.random.next(), depth);
    } else {
      take_step(all, what, seed + i, depth);
    }
    if (*all.whose != me || this_goroutine::id() != me) shared::add(all.faults);
  }
  if (how == fate::throws) throw expected_error();
  if (how == fate::exits) goexit();
  return seed;
}

class soak : public at_every_width {};
THRUM_AT_EVERY_WIDTH(soak);

TEST_P(soak, S30_random_programs_do_what_their_model_says) {
  std::uint64_t const first_seed = test_seed();
  rt::random_source seeds(first_seed);
  std::int64_t const nodes_wanted = scaled(is_long() ? 10'000'000 : 300'000, 20'000);
  std::int64_t nodes = 0;
  int runs = 0;
  while (nodes < nodes_wanted) {
    constexpr int at_once = 16;  // programs that share one run
    std::uint64_t const run_seed = seeds.next();
    tally expected;
    for (int i = 0; i < at_once; ++i) model(nth_random(run_seed, static_cast<std::uint64_t>(i)).next(), 0, expected);
    nodes += expected.nodes;
    ++runs;
    auto const all = std::make_unique<shared>();
    int left = 0;
    run_with({.max_procs = procs(), .local_queue_capacity = runs % 2 == 0 ? 4 : 256}, [&] {
      wait_group programs;
      for (int i = 0; i < at_once; ++i) {
        programs.go([&, seed = nth_random(run_seed, static_cast<std::uint64_t>(i)).next()] {
          node(*all, seed, 0, fate::returns);
        });
      }
      programs.wait();
      all->children.wait();
      static_cast<void>(wait_until([] { return num_goroutines() == 1; }));  // the last ones are still leaving
      left = num_goroutines() - 1;
    });
    tally actual;
    actual.nodes = all->nodes.load(rt::relaxed);
    actual.endings = all->endings.load(rt::relaxed);
    actual.once = all->once.load(rt::relaxed);
    actual.exceptions = all->exceptions.load(rt::relaxed);
    actual.exits = all->exits.load(rt::relaxed);
    for (std::int64_t const count : all->locked) actual.locked += count;
    ASSERT_EQ(actual, expected) << "run " << run_seed;
    ASSERT_EQ(all->faults.load(rt::relaxed), 0) << "run " << run_seed;
    ASSERT_EQ(left, 0) << "run " << run_seed;
  }
  RecordProperty("runs", std::to_string(runs));
}

}  // namespace
}  // namespace thrum::test
