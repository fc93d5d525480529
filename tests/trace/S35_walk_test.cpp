// How `go f()` travels, as docs/internals.md tells it, from the events of a real trace (S35). The numbers in the
// comments are those of the steps there.
#include "support/run_at.h"
#include "support/slices.h"
#include "trace/recorded.h"
#include <thrum/thrum.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace thrum {
namespace {

using command::event;
using command::record_kind;
using test::file_for_trace;

constexpr std::uint8_t detail_next = 0, detail_found_work = 1, detail_chan_receive = 9, detail_by_timer = 2;

using events = std::vector<event>;

bool is_about(event const& one, record_kind kind, std::uint64_t goroutine) {
  return one.what->kind == kind && one.what->argument(0) == goroutine;
}

events::const_iterator find(events const& in, events::const_iterator from, record_kind kind, std::uint64_t goroutine) {
  return std::find_if(from, in.end(), [&](event const& e) { return is_about(e, kind, goroutine); });
}

// The names of the records that a stream has from one record about a goroutine to another one, with both.
std::string records_between(command::trace const& of, std::uint16_t stream, event const& first, event const& last) {
  std::string names;
  bool is_inside = false;
  for (event const& each : of.merged.events) {
    is_inside = is_inside || each.what == first.what;
    if (!is_inside || each.what->stream != stream) continue;
    names += (names.empty() ? "" : " ") + std::string(command::format_of(each.what->kind)->name);
    if (each.what == last.what) break;
  }
  return names;
}

void expect_sound(command::trace const& of) {
  EXPECT_EQ("", test::violations_of(of));
  EXPECT_EQ("", test::notes_of(of));
}

class walk_of_go : public testing::Test {
  test::in_run_order const order_{};
};

// Steps 1, 2, 7 and 8 need only one P.
TEST_F(walk_of_go, S35_a_goroutine_is_created_parks_for_its_successor_is_readied_and_ends) {
  file_for_trace const file;
  std::uint64_t main_id = 0;
  std::uint64_t f_id = 0;
  test::run_at(1, [&] {
    main_id = this_goroutine::id();
    trace::start(file.name());
    chan<int> c;
    go([&, c] {
      f_id = this_goroutine::id();
      EXPECT_EQ(1, c.recv());
    });
    thrum::yield();
    c.send(1);
    thrum::yield();
    trace::stop();
  });
  auto const made = file.read();
  expect_sound(made);
  events const& all = made.merged.events;
  EXPECT_EQ("create start stop ready start end", test::records_of(made, f_id));

  // 1 and 2: the record of the G, without a stack
  auto const created = find(all, all.begin(), record_kind::create, f_id);
  ASSERT_NE(all.end(), created);
  EXPECT_EQ(main_id, created->what->argument(2));
  EXPECT_NE(std::string::npos, made.file.name_of_site(created->what->argument(1)).find("S35_walk_test.cpp"));
  // 6: it runs on the P that main has left
  auto const started = find(all, created, record_kind::start, f_id);
  ASSERT_NE(all.end(), started);
  EXPECT_EQ(created->what->stream, started->what->stream);
  // 7: it parks, and switches straight to its successor, without a search
  auto const stopped = find(all, started, record_kind::stop, f_id);
  auto const main_goes_on = find(all, stopped, record_kind::start, main_id);
  ASSERT_NE(all.end(), main_goes_on);
  EXPECT_EQ(detail_chan_receive, stopped->what->detail);
  EXPECT_EQ("stop start", records_between(made, stopped->what->stream, *stopped, *main_goes_on));
  // A waker readies it: step 3 follows, into runnext.
  auto const readied = find(all, main_goes_on, record_kind::ready, f_id);
  ASSERT_NE(all.end(), readied);
  EXPECT_EQ(main_id, readied->what->argument(1));
  EXPECT_EQ(detail_next, readied->what->detail);
  EXPECT_NE(std::string::npos, made.file.name_of_site(readied->what->argument(2)).find("S35_walk_test.cpp"))
      << made.file.name_of_site(readied->what->argument(2));
  auto const runs_again = find(all, readied, record_kind::start, f_id);
  // 8: it returns, and the next goroutine follows
  auto const ended = find(all, runs_again, record_kind::end, f_id);
  ASSERT_NE(all.end(), ended);
  auto const main_ends_it = find(all, ended, record_kind::start, main_id);
  ASSERT_NE(all.end(), main_ends_it);
  EXPECT_EQ("end start", records_between(made, ended->what->stream, *ended, *main_ends_it));
}

// Steps 3 to 6: main goes on computing, so another M has to run f.
TEST_F(walk_of_go, S35_an_m_is_started_searches_steals_the_goroutine_and_runs_it) {
  constexpr int rounds = 200;
  file_for_trace const file;
  test::run_at(2, [&] {
    trace::start(file.name());
    for (int i = 0; i < rounds; ++i) {
      std::atomic<bool> has_run{false};
      go([&] { has_run = true; });
      while (!has_run) {
      }
      sleep_for(std::chrono::microseconds(200));  // the other M goes to rest
    }
    trace::stop();
  });
  auto const made = file.read();
  expect_sound(made);
  events const& all = made.merged.events;
  int walks = 0;
  for (auto created = all.begin(); created != all.end(); ++created) {
    if (created->what->kind != record_kind::create || created->what->detail == detail_by_timer) continue;
    auto const started = find(all, created, record_kind::start, created->what->argument(0));
    ASSERT_NE(all.end(), started);
    std::uint16_t const thief = started->what->stream;
    ASSERT_NE(created->what->stream, thief) << "main's P is busy";
    std::optional<std::size_t> taken, searches, stolen, found;
    for (auto at = created; at != started; ++at) {
      if (at->what->stream != thief) continue;
      auto const place = static_cast<std::size_t>(at - all.begin());
      if (at->what->kind == record_kind::take) taken = place;
      if (at->what->kind == record_kind::spin) searches = place;
      if (at->what->kind == record_kind::steal && at->what->argument(0) == created->what->stream) stolen = place;
      if (at->what->kind == record_kind::spun && at->what->detail == detail_found_work) found = place;
    }
    // 5: it steals from main's P, and ends its search. 6: it runs the goroutine.
    ASSERT_TRUE(stolen && found);
    EXPECT_LT(*stolen, *found);
    if (!taken || !searches) continue;  // it was searching already
    // 4: the M gets the P, and begins to search
    ++walks;
    EXPECT_LT(*taken, *searches);
    EXPECT_LT(*searches, *stolen);
  }
  EXPECT_GT(walks, 0);
}

}  // namespace
}  // namespace thrum
