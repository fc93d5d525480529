// Many layers of values, cancels and timeouts (CX-05): Go's TestLayersCancel and TestLayersTimeout.
#include "base/random.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/seed.h"
#include <thrum/thrum.h>

#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace thrum::test {
namespace {

using namespace std::chrono_literals;

enum class ends_by : bool { cancel, timeout };

class context_layers : public at_every_width {
 protected:
  // At least thirty layers in random order, one of which ends it all.
  static void play(rt::random_source random, ends_by how) {
    struct number {
      int n;
      bool operator==(number const&) const = default;
    };
    std::vector<int> values;
    std::vector<cancelable> handles;
    context ctx;
    std::uint32_t const at_least = 30;
    std::uint32_t const ending = random.below(at_least);
    for (std::uint32_t layer = 0; layer < at_least || values.empty() || handles.empty(); ++layer) {
      std::uint32_t const kind = random.below(3);
      if (layer == ending && how == ends_by::timeout) {
        handles.push_back(with_timeout(ctx, std::chrono::microseconds(200 + random.below(2000))));
      } else if (kind == 0) {
        int const next = static_cast<int>(values.size());
        values.push_back(next * 3);
        ctx = with_value(ctx, number{next}, next * 3);
        continue;
      } else if (kind == 1) {
        handles.push_back(with_cancel(ctx));
      } else {
        handles.push_back(with_timeout(ctx, 1h));
      }
      ctx = handles.back().ctx;
    }
    auto const check_values = [&] {
      for (int i = 0; i < static_cast<int>(values.size()); ++i) {
        int const* const found = ctx.value<int>(number{i});
        ASSERT_NE(found, nullptr);
        ASSERT_EQ(*found, values[static_cast<std::size_t>(i)]);
      }
      ASSERT_EQ(ctx.value<int>(number{static_cast<int>(values.size())}), nullptr);
      ASSERT_EQ(ctx.value<int>(0), nullptr);
    };
    check_values();
    if (how == ends_by::cancel) {
      ASSERT_FALSE(ctx.err());
      handles[random.below(static_cast<std::uint32_t>(handles.size()))].cancel();
    }
    ASSERT_EQ(ctx.done().recv(), std::nullopt);
    ASSERT_EQ(ctx.err(), how == ends_by::cancel ? context_errc::canceled : context_errc::deadline_exceeded);
    check_values();
  }
};
THRUM_AT_EVERY_WIDTH(context_layers);

TEST_P(context_layers, CX05_keep_their_values_and_end_when_one_is_cancelled) {
  std::uint64_t const seed = test_seed();
  run([&] {
    for (std::int64_t round = 0; round < scaled(300, 30); ++round) {
      play(nth_random(seed, static_cast<std::uint64_t>(round)), ends_by::cancel);
    }
  });
}

TEST_P(context_layers, CX05_keep_their_values_and_end_when_the_time_of_one_is_over) {
  std::uint64_t const seed = test_seed();
  run([&] {
    group all;
    for (std::int64_t round = 0; round < scaled(300, 30); ++round) {
      all.go([&, round] { play(nth_random(seed, static_cast<std::uint64_t>(round)), ends_by::timeout); });
    }
    all.wait();
  });
}

}  // namespace
}  // namespace thrum::test
