// Runs thousands of small random programs of goroutines and channels, and checks each against a plain sequential model
// (S33). There must be an order of its operations that explains what was seen, and no goroutine may be left waiting
// that could continue.
//
// A program that cannot be explained is made smaller for as long as it fails, and is printed. The following plays it
// many times:
//   THRUM_CHAN_PROGRAM='0|s0 s0|r0' THRUM_TEST_SEED=... test_stress --gtest_filter='*chan_model*'
#include "base/random.h"
#include "channels/model/checker.h"
#include "channels/model/generator.h"
#include "channels/model/interpreter.h"
#include "channels/model/program.h"
#include "channels/model/shrinker.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/seed.h"
#include "support/with_debug.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace thrum::test {
namespace {

using namespace chan_model;

std::optional<history> run_once(program const& p, std::uint64_t seed) {
  rt::random_source dice(seed);
  how_to_run const how{.with_tickets = dice.below(2) == 0, .seed = dice.next()};
  return dice.below(2) == 0 ? interpreter<int>::run(p, how) : interpreter<std::string>::run(p, how);
}

// What is wrong with it; empty: nothing.
std::string fault_of(program const& p, std::uint64_t seed) {
  auto const seen = run_once(p, seed);
  if (!seen.has_value()) return "does not come to rest";
  return checker(p, *seen).is_explainable() ? "" : text_of(p, *seen);
}

void report(program const& p, std::uint64_t seed, std::string const& fault) {
  constexpr int tries = 300;  // of each smaller program: a race does not show every time
  program const smallest = shrunk(p, [&](program const& candidate) {
    for (std::uint64_t i = 0; i < tries; ++i) {
      if (!fault_of(candidate, seed + i).empty()) return true;
    }
    return false;
  });
  ADD_FAILURE() << "cannot be explained:\n"
                << fault << "THRUM_CHAN_PROGRAM='" << text_of(p) << "'\nsmaller: THRUM_CHAN_PROGRAM='"
                << text_of(smallest) << "'";
}

class chan_model_at : public testing::TestWithParam<int> {};
THRUM_AT_WIDTHS(chan_model_at, 1, 2, 8);

TEST_P(chan_model_at, S33_random_programs_do_what_a_sequential_model_explains) {
  std::uint64_t const first_seed = test_seed();
  std::int64_t const wanted = scaled(is_long() ? 300'000 : 5000, 300);
  constexpr std::int64_t at_once = 100;  // programs of one run: what waits for ever is left behind with it
  std::int64_t completed = 0;
  std::int64_t waiting = 0;
  for (std::int64_t done = 0; done < wanted && !HasFailure(); done += at_once) {
    run_at(GetParam(), [&] {
      for (std::int64_t i = done; i < done + at_once && !HasFailure(); ++i) {
        std::uint64_t const seed = nth_random(first_seed, static_cast<std::uint64_t>(i)).next();
        program const p = generator(seed).make();
        auto const seen = run_once(p, seed);
        if (!seen.has_value()) {
          report(p, seed, "does not come to rest\n");
          continue;
        }
        for (std::size_t g = 0; g < p.goroutines.size(); ++g) {
          completed += static_cast<std::int64_t>((*seen)[g].size());
          waiting += (*seen)[g].size() < p.goroutines[g].size() ? 1 : 0;
        }
        if (!checker(p, *seen).is_explainable()) report(p, seed, text_of(p, *seen));
      }
    });
  }
  // The programs are worth something only if much happens in them, and if some goroutines are left over.
  EXPECT_GT(completed, 4 * wanted);
  EXPECT_GT(waiting, wanted / 2);
}

TEST_P(chan_model_at, S33_the_program_of_THRUM_CHAN_PROGRAM) {
  char const* const text = std::getenv("THRUM_CHAN_PROGRAM");
  if (text == nullptr) GTEST_SKIP() << "to play one program: THRUM_CHAN_PROGRAM='0|s0 s0|r0'";
  program const p = program_of(text);
  std::uint64_t const first_seed = test_seed();
  for (std::uint64_t batch = 0; batch < 100 && !HasFailure(); ++batch) {
    run_at(GetParam(), [&] {
      for (std::uint64_t i = 0; i < 100 && !HasFailure(); ++i) {
        std::string const fault = fault_of(p, first_seed + batch * 100 + i);
        if (!fault.empty()) ADD_FAILURE() << "cannot be explained:\n" << fault;
      }
    });
  }
}

// One P and a fixed seed of the scheduler's own dice: everything happens in the same order again.
TEST(chan_model_seeds, S33_a_run_with_one_p_and_a_seed_can_be_repeated) {
  std::uint64_t const first_seed = test_seed();
  auto const play = [&](char const* scheduler_seed) {
    with_debug const meanwhile(scheduler_seed +
                               std::string(",slice=10000000"));  // the end of a slice would change the order
    std::string all;
    run_at(1, [&] {
      for (std::uint64_t i = 0; i < 100; ++i) {
        std::uint64_t const seed = nth_random(first_seed, i).next();
        program const p = generator(seed).make();
        auto const seen = run_once(p, seed);
        ASSERT_TRUE(seen.has_value());
        all += text_of(p, *seen);
      }
    });
    return all;
  };
  std::string const first = play("seed=7");
  EXPECT_EQ(play("seed=7"), first);
  EXPECT_EQ(play("seed=7"), first);
  EXPECT_NE(play("seed=8"), first) << "the selects must have chosen differently somewhere";
}

}  // namespace
}  // namespace thrum::test
