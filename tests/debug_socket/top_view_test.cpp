// What `thrum top` shows, from answers that are given here.
#include "command/top/view.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace {

using namespace thrum::command;

constexpr char const* stats_before =
    "time_ns 1000000000\ngoroutines.running 1\ngoroutines.runnable 2\ngoroutines.in_calls 3\ngoroutines.waiting 100000\n"
    "goroutines.created 100\nmax_procs 2\nidle_procs 1\nprocs.0.status running\nprocs.0.m 3\nprocs.0.queued 5\n"
    "procs.0.parks 10\nprocs.0.steals 0\nprocs.1.status idle\nprocs.1.m -\nprocs.1.queued 0\nprocs.1.parks 0\n";
constexpr char const* stats_after =
    "time_ns 3000000000\ngoroutines.running 1\ngoroutines.runnable 2\ngoroutines.in_calls 3\ngoroutines.waiting 100000\n"
    "goroutines.created 120\nmax_procs 2\nidle_procs 1\nprocs.0.status running\nprocs.0.m 3\nprocs.0.queued 5\n"
    "procs.0.parks 20010\nprocs.0.steals 8\nprocs.1.status idle\nprocs.1.m -\nprocs.1.queued 0\nprocs.1.parks 0\n";
constexpr char const* groups =
    "99000\twaiting\tchan receive\t0\tserve (server.cpp:12)\n"
    "1000\twaiting\tmutex\t61000000000\tlog (log.cpp:7)\n"
    "3\trunning\t\t0\tmain\n";

class top : public testing::Test {
 protected:
  top() {
    view_.take(figures(stats_before), groups_of(groups));
    view_.take(figures(stats_after), groups_of(groups));
  }
  [[nodiscard]] std::string shown(std::size_t rows = 40, std::size_t columns = 140) const {
    std::string text;
    for (top_line const& each : view_.lines(rows, columns)) text += each.text + '\n';
    return text;
  }
  [[nodiscard]] std::size_t place_of(char const* part) const { return shown().find(part); }
  [[nodiscard]] bool shows(char const* part) const { return place_of(part) != std::string::npos; }

  top_view view_{"process 7 (server)"};
};

TEST_F(top, shows_goroutines_by_state_and_rates) {
  EXPECT_TRUE(shows("process 7 (server)")) << shown();
  EXPECT_TRUE(shows("goroutines 100006: 1 running, 2 runnable, 3 in calls, 100000 waiting; 10/s created")) << shown();
  EXPECT_TRUE(shows("per second: 10.0k parks, 0 readies, 4 steals,")) << shown();
}

TEST_F(top, shows_each_p_and_what_runs_on_it) {
  EXPECT_TRUE(shows("   0 running      3       5 ")) << shown();
  EXPECT_TRUE(shows("   1 idle         -       0 ")) << shown();
  view_.show_ps(false);
  EXPECT_FALSE(shows("   1 idle  ")) << shown();
}

TEST_F(top, sorts_groups_by_number_wait_state_and_place) {
  EXPECT_LT(place_of("chan receive"), place_of("mutex"));
  view_.set_order(top_order::longest);
  EXPECT_LT(place_of("mutex"), place_of("chan receive"));
  view_.set_order(top_order::state);
  EXPECT_LT(place_of("main"), place_of("chan receive"));
  view_.set_order(top_order::place);
  EXPECT_LT(place_of("log ("), place_of("serve ("));
  EXPECT_EQ(next(top_order::place), top_order::count);
}

TEST_F(top, search_finds_states_reasons_and_places_in_any_case) {
  view_.set_search("LOG.CPP");
  EXPECT_TRUE(shows("mutex") && !shows("chan receive")) << shown();
  view_.set_search("Receive");
  EXPECT_TRUE(shows("serve (server.cpp:12)") && !shows("mutex")) << shown();
  view_.set_search("nowhere");
  EXPECT_FALSE(shows("chan receive") || shows("mutex")) << shown();
}

TEST_F(top, scrolls_within_the_groups) {
  view_.scroll(1);
  EXPECT_TRUE(!shows("chan receive") && shows("mutex")) << shown();
  view_.scroll(1000);
  EXPECT_FALSE(shows("mutex")) << shown();
  view_.scroll(-1000);
  EXPECT_TRUE(shows("chan receive")) << shown();
}

TEST_F(top, fits_into_any_terminal) {
  for (std::size_t rows : {0, 1, 2, 5, 10, 200}) {
    for (std::size_t columns : {1, 10, 59, 60, 61, 80, 400}) {
      std::vector<top_line> const lines = view_.lines(rows, columns);
      EXPECT_LE(lines.size(), rows);
      for (top_line const& each : lines) EXPECT_LE(each.text.size(), columns) << each.text;
    }
  }
}

TEST_F(top, what_a_process_sends_does_not_disturb_the_terminal) {
  view_.take(figures("nonsense\nmax_procs 99999999999999999999\n"), groups_of("x\ty\n\n7\t\x1b[2J\t\t-5\tp\x07lace"));
  EXPECT_EQ(shown().find('\x1b'), std::string::npos);
  EXPECT_EQ(shown().find('\x07'), std::string::npos);
}

}  // namespace
