// S37: the eleven scenes, played on the real scheduler. Each test checks the queues at each step of its scene, in the
// recording that the page shows.
#include "command/scenes/json.h"
#include "command/scenes/page.h"
#include "os/barrier.h"
#include "scenes/play.h"
#include "scenes/sources.h"
#include "scenes/stage.h"
#include "support/slices.h"
#include "support/with_debug.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace thrum {
namespace {

using scenes::event;
using scenes::machine;
using scenes::part;
using scenes::recording;

std::string text_of(std::vector<int> const& gs) {
  std::string text;
  for (int const g : gs) text += (text.empty() ? "G" : " G") + std::to_string(g);
  return text;
}

std::string name_of(int g) { return g < 0 ? "-" : "G" + std::to_string(g); }

// The queues: "global [G3 G4] P1 M1 runs G2 next G8 [G5 G6]". Ps that are idle and empty are left out.
std::string queues_of(machine const& now) {
  std::string text = "global [" + text_of(now.global) + "]";
  for (scenes::p_state const& p : now.procs) {
    bool const is_plain = std::string(p.status) == "running";
    if (std::string(p.status) == "idle" && p.m < 0 && p.running < 0 && p.next < 0 && p.ring.empty()) continue;
    text += " P" + std::to_string(p.id) + " M" + std::to_string(p.m);
    text += is_plain ? " runs " + name_of(p.running) : std::string(" ") + p.status;
    text += " next " + name_of(p.next) + " [" + text_of(p.ring) + "]";
  }
  return text;
}

// "M1 running, M2 spinning": the Ms that do not rest, without M0, which stays in its call.
std::string ms_of(machine const& now) {
  std::string text;
  for (scenes::m_state const& m : now.ms) {
    if (m.id == 0 || std::string(m.state) == "resting") continue;
    text += (text.empty() ? "M" : ", M") + std::to_string(m.id) + " " + m.state;
  }
  return text;
}

std::string kinds_of(std::vector<event> const& events) {
  std::string text;
  for (event const& each : events) text += (text.empty() ? "" : " ") + std::string(each.kind);
  return text;
}

class the_scenes : public testing::Test {
 protected:
  // Checks a scene against the states of its steps: what queues_of and ms_of say.
  struct expected {
    char const* queues;
    char const* ms;
  };
  part play(std::size_t number, std::vector<expected> const& steps) {
    recording const all = scenes::play();
    part const& one = all.parts.at(number - 1);
    EXPECT_EQ(one.steps.size(), steps.size());
    for (std::size_t i = 0; i < std::min(one.steps.size(), steps.size()); ++i) {
      EXPECT_EQ(queues_of(one.steps[i].state), steps[i].queues) << "step " << i << ": " << one.steps[i].text.en;
      EXPECT_EQ(ms_of(one.steps[i].state), steps[i].ms) << "step " << i << ": " << one.steps[i].text.en;
    }
    return one;
  }

 private:
  test::in_run_order const order_{};
};

TEST_F(the_scenes, S37_01_a_new_goroutine_goes_into_runnext_of_its_creators_p) {
  part const scene = play(
      1, {{"global [] P1 M1 runs G1 next - []", "M1 running"}, {"global [] P1 M1 runs G1 next G2 []", "M1 running"}});
  EXPECT_EQ(kinds_of(scene.steps[1].events), "create");
}

TEST_F(the_scenes, S37_02_an_m_runs_the_next_goroutine_when_one_ends) {
  part const scene = play(
      2, {{"global [] P1 M1 runs G1 next G2 []", "M1 running"}, {"global [] P1 M1 runs G2 next - []", "M1 running"}});
  EXPECT_EQ(kinds_of(scene.steps[1].events), "end run");
}

TEST_F(the_scenes, S37_03_each_new_goroutine_kicks_the_one_before_into_the_ring) {
  play(3, {{"global [] P1 M1 runs G2 next - []", "M1 running"},
           {"global [] P1 M1 runs G2 next G3 []", "M1 running"},
           {"global [] P1 M1 runs G2 next G4 [G3]", "M1 running"},
           {"global [] P1 M1 runs G2 next G5 [G3 G4]", "M1 running"},
           {"global [] P1 M1 runs G2 next G6 [G3 G4 G5]", "M1 running"}});
}

TEST_F(the_scenes, S37_04_a_ring_of_four_has_room_for_five_that_wait) {
  play(4, {{"global [] P1 M1 runs G2 next G6 [G3 G4 G5]", "M1 running"},
           {"global [] P1 M1 runs G2 next G7 [G3 G4 G5 G6]", "M1 running"}});
}

TEST_F(the_scenes, S37_05_the_sixth_sends_the_older_half_and_the_one_kicked_out_to_the_global_queue) {
  part const scene = play(5, {{"global [] P1 M1 runs G2 next G7 [G3 G4 G5 G6]", "M1 running"},
                              {"global [G3 G4 G7] P1 M1 runs G2 next G8 [G5 G6]", "M1 running"}});
  ASSERT_EQ(kinds_of(scene.steps[1].events), "create spill");
  EXPECT_EQ(text_of(scene.steps[1].events[1].gs), "G3 G4 G7");
}

TEST_F(the_scenes, S37_06_a_creation_wakes_a_resting_m_which_spins) {
  part const scene =
      play(6, {{"global [G3 G4 G7] P1 M1 runs G2 next G8 [G5 G6]", "M1 running"},
               {"global [G3 G4 G7] P1 M1 runs G2 next G8 [G5 G6] P2 M2 runs - next - []", "M1 running, M2 spinning"}});
  EXPECT_EQ(kinds_of(scene.steps[1].events), "m_wake p_take");
}

TEST_F(the_scenes, S37_07_a_share_of_the_global_queue_is_one_of_three_with_four_ps) {
  play(7, {{"global [G3 G4 G7] P1 M1 runs G2 next G8 [G5 G6] P2 M2 runs - next - []", "M1 running, M2 spinning"},
           {"global [G4 G7] P1 M1 runs G2 next G8 [G5 G6] P2 M2 runs G3 next - [] P3 M3 runs - next - []",
            "M1 running, M2 running, M3 spinning"}});
}

TEST_F(the_scenes, S37_08_a_thief_takes_the_older_half_of_the_ring) {
  part const scene =
      play(8, {{"global [G4 G7] P1 M1 runs G2 next G8 [G5 G6] P2 M2 runs G3 next - [] P3 M3 runs - next - []",
                "M1 running, M2 running, M3 spinning"},
               {"global [G7] P1 M1 runs G2 next G8 [G5 G6] P2 M2 runs G4 next - [] P3 M3 runs - next - []",
                "M1 running, M2 running, M3 spinning"},
               {"global [] P1 M1 runs G2 next G8 [G5 G6] P2 M2 runs G7 next - [] P3 M3 runs - next - []",
                "M1 running, M2 running, M3 spinning"},
               {"global [] P1 M1 runs G2 next G8 [G5 G6] P2 M2 runs - next - [] P3 M3 runs - next - []",
                "M1 running, M2 spinning, M3 spinning"},
               {"global [] P1 M1 runs G2 next G8 [G6] P2 M2 runs G5 next - [] P3 M3 runs - next - []",
                "M1 running, M2 running, M3 spinning"}});
  event const& theft = scene.steps[4].events.at(0);
  EXPECT_STREQ(theft.kind, "steal");
  EXPECT_EQ(text_of(theft.gs), "G5");
  EXPECT_STREQ(theft.from.kind, "ring");
  EXPECT_EQ(theft.from.p, 1);
}

TEST_F(the_scenes, S37_09_at_most_half_of_the_busy_ps_have_an_m_that_spins) {
  part const scene = play(9, {{"global [] P1 M1 runs G2 next G8 [G6] P2 M2 runs G5 next - [] P3 M3 runs - next - []",
                               "M1 running, M2 running, M3 spinning"},
                              {"global [] P1 M1 runs G2 next G8 [] P2 M2 runs G5 next - [] P3 M3 runs G6 next - [] "
                               "P4 M4 runs - next - []",
                               "M1 running, M2 running, M3 running, M4 spinning"},
                              {"global [] P1 M1 runs G2 next - [] P2 M2 runs G8 next - [] P3 M3 runs - next - [] "
                               "P4 M4 runs - next - []",
                               "M1 running, M2 running, M3 running, M4 spinning"},
                              {"global [] P1 M1 runs G2 next - [] P2 M2 runs G8 next - [] P3 M3 runs - next - [] "
                               "P4 M4 runs - next - []",
                               "M1 running, M2 running, M3 spinning, M4 spinning"}});
  std::vector<event> const& events = scene.steps[2].events;
  auto const theft =
      std::find_if(events.begin(), events.end(), [](event const& each) { return each.kind == std::string("steal"); });
  ASSERT_NE(theft, events.end());
  EXPECT_EQ(text_of(theft->gs), "G8");
  EXPECT_STREQ(theft->from.kind, "next");
}

TEST_F(the_scenes, S37_10_a_long_call_hands_the_p_off_and_comes_back_to_an_idle_one) {
  part const scene = play(
      10, {{"global [] P1 M1 runs G2 next - [] P2 M2 runs G8 next - [] P3 M3 runs - next - [] P4 M4 runs - next - []",
            "M1 running, M2 running, M3 spinning, M4 spinning"},
           {"global [] P1 M1 runs G2 next - [] P2 M2 runs G8 next G9 [] P3 M3 runs - next - [] P4 M4 runs - next - []",
            "M1 running, M2 running, M3 spinning, M4 spinning"},
           {"global [] P1 M1 runs G2 next - [] P2 M5 runs - next G9 [] P3 M3 runs - next - [] P4 M4 runs - next - []",
            "M1 running, M2 in_call, M3 spinning, M4 spinning, M5 running"},
           {"global [] P1 M1 runs G2 next - [] P2 M5 runs G9 next - [] P3 M3 runs - next - [] P4 M4 runs - next - []",
            "M1 running, M2 in_call, M3 spinning, M4 spinning, M5 running"},
           {"global [] P1 M1 runs G2 next - [] P3 M3 runs - next - [] P4 M4 runs - next - []",
            "M1 running, M2 in_call, M3 spinning, M4 spinning"},
           {"global [] P1 M1 runs G2 next - [] P2 M2 runs G8 next - [] P3 M3 runs - next - [] P4 M4 runs - next - []",
            "M1 running, M2 running, M3 spinning, M4 spinning"}});
  EXPECT_EQ(kinds_of(scene.steps[2].events), "call_enter p_release m_wake hand_off p_take");
  EXPECT_EQ(kinds_of(scene.steps[4].events), "end p_release m_rest") << "M5 must not have searched";
  EXPECT_EQ(kinds_of(scene.steps[5].events), "p_take call_exit");
}

TEST_F(the_scenes, S37_11_a_short_call_has_three_ways_back) {
  rt::os::prepare_barrier();  // no run has done so yet if this test is the only one of its process
  if (!rt::os::has_barrier()) GTEST_SKIP() << "without membarrier a short call gives its P away at once";
  part const scene = play(
      11,
      {{"global [] P1 M1 runs G2 next - [] P2 M2 runs G8 next - [] P3 M3 runs - next - [] P4 M4 runs - next - []",
        "M1 running, M2 running, M3 spinning, M4 spinning"},
       {"global [] P1 M1 runs G2 next - [] P2 M2 runs G8 next - [] P3 M3 runs - next - []",
        "M1 running, M2 running, M3 spinning"},
       {"global [] P1 M1 runs G2 next - [] P2 M2 in_call next - [] P3 M3 runs - next - []",
        "M1 running, M2 in_call, M3 spinning"},
       {"global [] P1 M1 runs G2 next - [] P2 M2 runs G8 next - [] P3 M3 runs - next - []",
        "M1 running, M2 running, M3 spinning"},
       {"global [] P1 M1 runs G2 next - [] P2 M2 in_call next G10 [] P3 M3 runs - next - []",
        "M1 running, M2 in_call, M3 spinning"},
       {"global [] P1 M1 runs G2 next - [] P2 M4 runs G10 next - [] P3 M3 runs - next - []",
        "M1 running, M2 in_call, M3 spinning, M4 running"},
       {"global [] P1 M1 runs G2 next - [] P2 M4 runs G10 next - [] P3 M3 runs - next - [] P4 M2 runs G8 next - []",
        "M1 running, M2 running, M3 spinning, M4 running"},
       {"global [] P1 M1 runs G2 next - [] P2 M4 runs G10 next - [] P3 M3 runs - next - [] P4 M2 in_call next G11 []",
        "M1 running, M2 in_call, M3 spinning, M4 running"},
       {"global [] P1 M1 runs G2 next - [] P2 M4 runs G10 next - [] P3 M3 runs - next - [] P4 M5 runs G11 next - []",
        "M1 running, M2 in_call, M3 spinning, M4 running, M5 running"},
       {"global [G8] P1 M1 runs G2 next - [] P2 M4 runs G10 next - [] P3 M3 runs - next - [] P4 M5 runs G11 next - []",
        "M1 running, M3 spinning, M4 running, M5 running"},
       {"global [] P1 M1 runs G2 next - [] P2 M4 runs G10 next - [] P3 M3 runs G8 next - [] P4 M5 runs G11 next - []",
        "M1 running, M3 running, M4 running, M5 running"}});
  EXPECT_EQ(kinds_of(scene.steps[3].events), "p_take call_exit");
  EXPECT_EQ(kinds_of(scene.steps[5].events), "m_wake hand_off p_take run");
  EXPECT_EQ(kinds_of(scene.steps[6].events), "p_take call_exit");
  EXPECT_EQ(kinds_of(scene.steps[9].events), "call_exit m_rest");
}

TEST_F(the_scenes, each_step_has_words_in_both_languages_and_lines_of_source_that_define_its_functions) {
  recording const all = scenes::play();
  EXPECT_EQ(all.parts.size(), rt::os::has_barrier() ? 11U : 10U);
  for (part const& one : all.parts) {
    EXPECT_FALSE(one.title.en.empty() || one.title.zh.empty() || one.story.en.empty() || one.story.zh.empty())
        << one.id;
    for (scenes::step const& each : one.steps) {
      SCOPED_TRACE(one.id + ", step " + std::to_string(each.t));
      EXPECT_FALSE(each.text.en.empty() || each.text.zh.empty());
      EXPECT_EQ(each.source.empty(), each.t == 0);
      for (scenes::source_lines const& source : each.source) {
        EXPECT_GT(source.line, 0);
        ASSERT_FALSE(source.lines.empty());
        EXPECT_NE(source.lines.front().find(source.function + "("), std::string::npos) << source.lines.front();
        EXPECT_NE(source.lines.back().find('}'), std::string::npos) << source.lines.back();
      }
    }
  }
}

TEST_F(the_scenes, are_not_played_in_the_randomised_mode) {
  test::with_debug const meanwhile("randomize=1");
  EXPECT_THROW(static_cast<void>(scenes::play()), scenes::stage_failure);
}

TEST(scene_sources, a_function_that_no_file_defines_is_an_error) {
  EXPECT_EQ(scenes::function_in("src/thrum/sched/wake.cpp", "start_spinning_m").lines.front(),
            "bool start_spinning_m(Sched& s) noexcept {");
  EXPECT_THROW(static_cast<void>(scenes::function_in("src/thrum/sched/wake.cpp", "spinning_m")), std::logic_error);
  EXPECT_THROW(static_cast<void>(scenes::function_in("src/thrum/sched/nothing.cpp", "start_spinning_m")),
               std::logic_error);
  EXPECT_THROW(static_cast<void>(scenes::function_in("src/thrum/sched/wake.cpp", "note_p_left_idle")), std::logic_error)
      << "a call is no definition";
}

TEST(scene_page, the_recording_stands_in_its_element_without_an_angle_bracket) {
  std::string const element = R"(<script type="application/json" id="recording">)";
  EXPECT_EQ(command::put_into_page("a" + element + "old</script>b", R"({"x": "</script>"})"),
            "a" + element + R"({"x": "\u003c/script>"})" + "</script>b");
  EXPECT_THROW(static_cast<void>(command::put_into_page("no element", "{}")), std::logic_error);
  EXPECT_THROW(static_cast<void>(command::put_into_page(element + "</script>" + element + "</script>", "{}")),
               std::logic_error);
  EXPECT_NE(command::page_with("{}").find(element + "{}</script>"), std::string::npos);
}

}  // namespace
}  // namespace thrum
