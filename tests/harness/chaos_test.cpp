// Chaos: a sequence of draws can be repeated, and points are chosen by name. Chaos exists only in builds with checks.
#include "os/chaos.h"

#include <cstdint>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace thrum::rt::os {
namespace {

#if THRUM_DEBUG_CHECKS

class chaos_draws : public testing::Test {
 protected:
  ~chaos_draws() override { set_chaos({}); }

  static std::vector<std::uint64_t> draw_some() {
    std::vector<std::uint64_t> drawn(100);
    for (auto& each : drawn) each = chaos_draw();
    return drawn;
  }
  // By as many threads, one after the other.
  static std::vector<std::vector<std::uint64_t>> draws_of_threads(std::uint64_t seed, int threads) {
    set_chaos({.seed = seed});
    std::vector<std::vector<std::uint64_t>> all(static_cast<std::size_t>(threads));
    for (auto& each : all) std::thread([&] { each = draw_some(); }).join();
    return all;
  }
};

TEST_F(chaos_draws, the_nth_thread_draws_the_same_again_whatever_its_id) {
  auto const first = draws_of_threads(7, 4);
  std::thread([] {}).join();  // ids go on
  EXPECT_EQ(draws_of_threads(7, 4), first);
}

TEST_F(chaos_draws, a_thread_that_has_drawn_before_begins_anew) {
  set_chaos({.seed = 7});
  auto const first = draw_some();
  EXPECT_NE(draw_some(), first) << "it goes on";
  set_chaos({.seed = 7});
  EXPECT_EQ(draw_some(), first);
}

TEST_F(chaos_draws, threads_and_seeds_differ) {
  auto const of_seven = draws_of_threads(7, 3);
  EXPECT_NE(of_seven[0], of_seven[1]);
  EXPECT_NE(of_seven[1], of_seven[2]);
  EXPECT_NE(draws_of_threads(8, 1)[0], of_seven[0]);
}

TEST_F(chaos_draws, a_point_that_is_left_out_draws_all_the_same) {
  auto const after_points = [](char const* only) {
    set_chaos({.seed = 7, .points = only});
    for (int i = 0; i < 100; ++i) chaos_point("chan.queued");
    return chaos_draw();
  };
  EXPECT_EQ(after_points(nullptr), after_points("park"));
}

TEST_F(chaos_draws, slices_end_as_often_as_was_asked_for) {
  auto const ends_of_a_thousand = [](std::uint32_t one_in) {
    set_chaos({.seed = 7, .slices_end_one_in = one_in});
    int ends = 0;
    for (int i = 0; i < 1000; ++i) ends += chaos_ends_slice() ? 1 : 0;
    return ends;
  };
  EXPECT_EQ(ends_of_a_thousand(0), 0);
  EXPECT_EQ(ends_of_a_thousand(1), 1000) << "each time";
  int const in_four = ends_of_a_thousand(4);
  EXPECT_GT(in_four, 150);
  EXPECT_LT(in_four, 350);
  EXPECT_EQ(ends_of_a_thousand(4), in_four) << "the same again";
}

TEST(chaos_points, are_chosen_by_name_or_by_the_part_before_the_dot) {
  EXPECT_TRUE(chaos_names(nullptr, "park.left")) << "all";
  EXPECT_TRUE(chaos_names("", "park.left"));
  EXPECT_TRUE(chaos_names("park.left", "park.left"));
  EXPECT_TRUE(chaos_names("park", "park.left"));
  EXPECT_TRUE(chaos_names("chan.queued,park", "park.left"));
  EXPECT_TRUE(chaos_names("chan.queued,,park", "chan.queued"));
  EXPECT_FALSE(chaos_names("par", "park.left"));
  EXPECT_FALSE(chaos_names("park.left.behind", "park.left"));
  EXPECT_FALSE(chaos_names("chan,select", "park.left"));
  EXPECT_FALSE(chaos_names(",", "park.left")) << "a list that names nothing";
}

#else

TEST(chaos_points, are_nothing_in_builds_without_checks) {
  set_chaos({.seed = 7, .slices_end_one_in = 1});
  chaos_point("park.left");
  EXPECT_FALSE(chaos_ends_slice());
}

#endif

}  // namespace
}  // namespace thrum::rt::os
