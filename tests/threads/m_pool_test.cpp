// S28, S31: the pool that keeps the Ms. Every operation changes one state, and the numbers follow from the states.
#include "core/m_pool.h"

#include "core/sched.h"
#include "support/fatal.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

namespace thrum::rt {
namespace {

class m_pools : public test::fatal_test {
 protected:
  M& awake() {
    M* const m = pool_.make(s_);
    pool_.has_started(*m);
    return *m;
  }
  M& resting(std::int64_t since_ns = 0) {
    M& m = awake();
    pool_.rest(m, since_ns);
    return m;
  }
  std::vector<M*> idle() const {
    std::vector<M*> all;
    for (M* m = pool_.first_idle(); m != nullptr; m = m_pool::next_idle(*m)) all.push_back(m);
    return all;
  }

  Sched s_{settings{.procs = 1}};
  m_pool& pool_ = s_.ms;
};

// Only the class that the type names writes these fields.
template <class Field, class Value>
constexpr bool is_read_only = !std::is_assignable_v<Field&, Value>;
static_assert(is_read_only<decltype(M::status), m_status> && is_read_only<decltype(M::next_p), P*>);
static_assert(is_read_only<decltype(M::spinning), bool> && is_read_only<decltype(M::wants_p), bool>);

TEST_F(m_pools, S13_S27_an_m_that_begins_to_spin_has_a_pending_watch_check) {
  M& begins = awake();
  s_.idle.begin_spin(begins);
  EXPECT_TRUE(begins.watch_check_pending);
  s_.idle.end_spin(begins);
  M& is_started = awake();
  ASSERT_TRUE(s_.idle.try_begin_spin());
  s_.idle.spin_for(is_started);
  EXPECT_TRUE(is_started.watch_check_pending);
  s_.idle.end_spin(is_started);
}

TEST_F(m_pools, S31_the_m_that_rested_last_is_taken_first) {
  M& first = resting();
  M& second = resting();
  EXPECT_EQ(idle(), (std::vector<M*>{&second, &first}));
  EXPECT_TRUE(pool_.take(second)) << "it sleeps";
  EXPECT_EQ(idle(), (std::vector<M*>{&first}));
  EXPECT_EQ(second.status, m_status::awake);
  EXPECT_EQ(pool_.count(m_status::idle), 1);
  EXPECT_EQ(pool_.total(), 2);
  pool_.check();
}

TEST_F(m_pools, T08_ms_that_are_home_to_goroutines_are_taken_before_the_others) {
  M& plain = resting();
  M& home = awake();
  home.residents.add();
  pool_.rest(home, 0);
  M& another = resting();
  EXPECT_EQ(idle(), (std::vector<M*>{&home, &another, &plain}));
}

TEST_F(m_pools, S27_the_timekeeper_is_roused_taken_or_demoted) {
  M& keeper = awake();
  pool_.make_timekeeper(keeper);
  EXPECT_EQ(pool_.timekeeper(), &keeper);
  EXPECT_EQ(pool_.without_work(), 1);
  EXPECT_FALSE(pool_.none_can_run_by_itself()) << "a pending timer is no deadlock";
  pool_.rouse_timekeeper();
  EXPECT_TRUE(pool_.timekeeper_is_roused());
  EXPECT_FALSE(pool_.take(keeper)) << "it is awake";
  EXPECT_EQ(pool_.timekeeper(), nullptr);
  pool_.make_timekeeper(keeper);
  pool_.rest(keeper, 0);
  EXPECT_EQ(pool_.timekeeper(), nullptr);
  EXPECT_EQ(keeper.status, m_status::idle);
  EXPECT_TRUE(pool_.none_can_run_by_itself());
}

TEST_F(m_pools, S20_ms_that_wait_for_a_p_are_not_at_rest) {
  M& m = awake();
  EXPECT_FALSE(pool_.none_can_run_by_itself());
  pool_.sleep_in_place(m);
  EXPECT_TRUE(pool_.none_can_run_by_itself());
  pool_.resume(m);
  EXPECT_FALSE(pool_.none_can_run_by_itself());
  pool_.got_p(m);
  pool_.queue(m, m_status::queued);
  EXPECT_FALSE(pool_.none_can_run_by_itself());
  pool_.dismiss(m);
  EXPECT_TRUE(m.is_to_end());
  EXPECT_TRUE(pool_.none_can_run_by_itself());
}

TEST_F(m_pools, T05_a_paused_m_is_counted_until_a_p_is_promised_to_it) {
  M& m = awake();
  M& other = awake();
  pool_.queue(m, m_status::paused);
  pool_.queue(other, m_status::paused_in_libc);
  EXPECT_EQ(pool_.paused(), 2);
  EXPECT_EQ(pool_.count(m_status::paused_in_libc), 1);
  pool_.resume(m);
  pool_.resume(other);
  EXPECT_EQ(pool_.paused(), 0);
  pool_.check();
}

TEST_F(m_pools, T03_a_thread_that_stops_for_good_learns_whether_it_was_counted) {
  pool_.queue(awake(), m_status::paused);
  EXPECT_FALSE(pool_.stop_for_good());
  EXPECT_EQ(pool_.count_stopped(), 2);
  EXPECT_TRUE(pool_.stop_for_good()) << "it came after the count";
  EXPECT_EQ(pool_.stopped(), 3);
}

TEST_F(m_pools, S22_a_record_is_used_again_when_its_thread_has_ended) {
  M& m = resting();
  pool_.let_go(m);
  EXPECT_TRUE(m.is_to_end());
  EXPECT_EQ(pool_.first_idle(), nullptr);
  EXPECT_EQ(pool_.total(), 0) << "another thread may be made in its place";
  pool_.note_end(m);
  EXPECT_EQ(pool_.take_ended(), &m);
  EXPECT_EQ(pool_.take_ended(), nullptr);
  pool_.keep(m);
  EXPECT_EQ(pool_.start(s_, m_status::starting), &m);
  EXPECT_EQ(pool_.total(), 1);
  EXPECT_EQ(pool_.made(), 1);
}

TEST_F(m_pools, S22_a_p_that_is_taken_back_leaves_an_m_for_the_next_p) {
  M* const m = pool_.start(s_, m_status::starting);
  pool_.order(*m);
  EXPECT_EQ(pool_.take_starting_without_p(), nullptr) << "it has a P";
  static_cast<void>(pool_.take_back_promise(*m));
  EXPECT_EQ(pool_.take_starting_without_p(), m);
  EXPECT_EQ(m->status, m_status::starting);
  ordered_ms orders = pool_.take_orders();
  EXPECT_EQ(orders.pop(), m);
  EXPECT_TRUE(orders.empty());
  EXPECT_TRUE(pool_.take_orders().empty());
}

TEST_F(m_pools, S22_a_list_loses_the_ms_that_are_to_go_and_keeps_the_others) {
  M& first = resting();
  M& second = resting();
  M& third = resting();
  m_list<&M::join_link> list;
  for (M* const m : {&first, &second, &third}) list.push(*m);
  list.remove_if([&](M const& m) { return &m == &second; });
  EXPECT_EQ(list.pop(), &first);  // the order of those that stay is turned around
  EXPECT_EQ(list.pop(), &third);
  EXPECT_EQ(list.pop(), nullptr);
}

TEST_F(m_pools, S22_all_ms_are_visited_the_newest_first_and_later_ones_are_not) {
  M& first = resting();
  M& second = resting();
  all_ms const seen = pool_.all();
  resting();
  std::vector<M const*> visited;
  for (M const& m : seen) visited.push_back(&m);
  ASSERT_GE(visited.size(), 2U);
  EXPECT_EQ(visited[0], &second);
  EXPECT_EQ(visited[1], &first);
  EXPECT_EQ(seen.find([&](M const& m) { return &m == &first; }), &first);
  EXPECT_EQ(seen.find([](M const&) { return false; }), nullptr);
}

TEST_F(m_pools, S38_ms_of_foreign_threads_are_counted_apart) {
  M& own = resting();
  M foreign(s_, pool_.take_number());
  foreign.is_foreign = true;
  pool_.add(foreign);
  pool_.admit(foreign);
  EXPECT_EQ(pool_.total(), 1);
  EXPECT_EQ(pool_.foreign(), 1);
  EXPECT_FALSE(pool_.none_can_run_by_itself());
  pool_.sleep_in_place(foreign);
  EXPECT_TRUE(pool_.none_can_run_by_itself());
  pool_.got_p(foreign);
  pool_.foreign_thread_ended(foreign);
  EXPECT_EQ(pool_.foreign(), 0);
  EXPECT_TRUE(pool_.none_can_run_by_itself());
  EXPECT_EQ(own.status, m_status::idle);
}

TEST_F(m_pools, S28_an_illegal_change_names_both_states) {
  M& m = awake();
  pool_.rest(m, 0);
  EXPECT_FATAL(pool_.resume(m), "internal error: M 0 cannot go from idle to resuming");
}

TEST_F(m_pools, S20_numbers_that_are_not_those_of_the_ms_end_the_program) {
  M& m = awake();
  pool_.check();
  const_cast<m_status&>(m.status.value()) = m_status::idle;  // past the pool
  EXPECT_FATAL(pool_.check(), "internal error: inconsistent counts of threads");
}

// run() throws if its threads cannot be made. Threads that ask for the live run must not be told of that one.
TEST(a_run_that_did_not_begin, is_not_the_live_run) {
  { Sched const s(settings{.procs = 1}); }
  EXPECT_EQ(Sched::live_epoch.load(relaxed), 0U);
}

// The picture in docs/internals.md is a Mermaid diagram; each of its arrows is one line.
TEST(m_states_in_the_docs, S28_the_picture_shows_exactly_the_legal_changes) {
  std::ifstream page(THRUM_SOURCE_DIR "/docs/internals.md");
  std::set<std::pair<std::string, std::string>> drawn;
  bool inside = false;
  for (std::string line; std::getline(page, line);) {
    if (line.find("stateDiagram-v2") != std::string::npos) inside = true;
    if (inside && line.rfind("```", 0) == 0) break;
    auto const arrow = line.find(" --> ");
    if (!inside || arrow == std::string::npos) continue;
    auto const word = [](std::string text) {
      text.erase(std::remove_if(text.begin(), text.end(), [](unsigned char c) { return std::isspace(c) != 0; }),
                 text.end());
      return text.substr(0, text.find(':'));
    };
    EXPECT_TRUE(drawn.insert({word(line.substr(0, arrow)), word(line.substr(arrow + 5))}).second) << line;
  }
  std::set<std::pair<std::string, std::string>> legal;
  auto const as_drawn = [](m_status status) {
    std::string name = name_of(status);
    std::replace(name.begin(), name.end(), ' ', '_');
    return name;
  };
  for (int from = 0; from < m_statuses; ++from) {
    for (int to = 0; to < m_statuses; ++to) {
      auto const a = static_cast<m_status>(from);
      auto const b = static_cast<m_status>(to);
      if (is_legal(a, b)) legal.insert({as_drawn(a), as_drawn(b)});
    }
  }
  EXPECT_EQ(drawn, legal);
}

}  // namespace
}  // namespace thrum::rt
