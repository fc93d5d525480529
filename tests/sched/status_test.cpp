// S28: which changes of state are legal, and what happens to one that is not.
#include "core/status.h"

#include "core/g.h"
#include "core/sched.h"
#include "support/fatal.h"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace thrum::rt {
namespace {

constexpr g_status g_states[] = {g_status::idle,    g_status::dead,    g_status::unstarted, g_status::runnable,
                                 g_status::running, g_status::waiting, g_status::syscall,   g_status::hosting};
constexpr p_status p_states[] = {p_status::stopped, p_status::idle, p_status::running, p_status::syscall,
                                 p_status::dead};

// The table of row S28, with two additions: `unstarted` is a runnable goroutine that has no stack yet (and may wait
// for one), `hosting` a running one whose stack its joined child uses.
std::set<std::pair<g_status, g_status>> const g_edges = {
    {g_status::idle, g_status::dead},         {g_status::dead, g_status::unstarted},
    {g_status::unstarted, g_status::running}, {g_status::unstarted, g_status::waiting},
    {g_status::runnable, g_status::running},  {g_status::running, g_status::runnable},
    {g_status::running, g_status::waiting},   {g_status::running, g_status::syscall},
    {g_status::running, g_status::dead},      {g_status::running, g_status::hosting},
    {g_status::hosting, g_status::running},   {g_status::waiting, g_status::runnable},
    {g_status::syscall, g_status::running},   {g_status::syscall, g_status::runnable},
};

std::set<std::pair<p_status, p_status>> const p_edges = {
    {p_status::stopped, p_status::idle},    {p_status::stopped, p_status::running},
    {p_status::stopped, p_status::dead},    {p_status::idle, p_status::running},
    {p_status::idle, p_status::stopped},    {p_status::running, p_status::idle},
    {p_status::running, p_status::syscall}, {p_status::running, p_status::stopped},
    {p_status::syscall, p_status::running}, {p_status::syscall, p_status::idle},
    {p_status::syscall, p_status::stopped}, {p_status::dead, p_status::stopped},
};

constexpr m_status m_states[] = {
    m_status::threadless,     m_status::starting, m_status::starting_without_p, m_status::awake,     m_status::idle,
    m_status::timekeeper,     m_status::roused,   m_status::in_place,           m_status::queued,    m_status::paused,
    m_status::paused_in_libc, m_status::resuming, m_status::waits_for_end,      m_status::dismissed, m_status::let_go};
static_assert(std::size(m_states) == m_statuses);

// The states that may follow each one, as the picture in docs/internals.md shows them.
std::map<m_status, std::set<m_status>> const m_edges = {
    {m_status::threadless, {m_status::starting, m_status::starting_without_p, m_status::awake}},
    {m_status::starting, {m_status::awake, m_status::starting_without_p}},
    {m_status::starting_without_p, {m_status::awake, m_status::starting, m_status::threadless}},
    {m_status::awake,
     {m_status::idle, m_status::timekeeper, m_status::in_place, m_status::queued, m_status::paused,
      m_status::paused_in_libc, m_status::resuming, m_status::waits_for_end, m_status::dismissed, m_status::let_go,
      m_status::threadless}},
    {m_status::idle, {m_status::awake, m_status::let_go}},
    {m_status::timekeeper, {m_status::awake, m_status::roused, m_status::idle}},
    {m_status::roused, {m_status::awake}},
    {m_status::in_place, {m_status::awake, m_status::resuming, m_status::dismissed}},
    {m_status::queued, {m_status::resuming, m_status::dismissed}},
    {m_status::paused, {m_status::resuming, m_status::dismissed}},
    {m_status::paused_in_libc, {m_status::resuming, m_status::dismissed}},
    {m_status::resuming, {m_status::awake}},
    {m_status::waits_for_end, {}},
    {m_status::dismissed, {m_status::waits_for_end}},
    {m_status::let_go, {m_status::threadless}},
};

TEST(states, S28_an_m_changes_along_the_table_and_no_other_way) {
  for (auto const from : m_states) {
    for (auto const to : m_states) {
      EXPECT_EQ(is_legal(from, to), m_edges.at(from).contains(to)) << name_of(from) << " to " << name_of(to);
    }
  }
}

TEST(states, S28_a_goroutine_changes_along_the_table_and_no_other_way) {
  for (auto const from : g_states) {
    for (auto const to : g_states) {
      EXPECT_EQ(is_legal(from, to), g_edges.contains({from, to})) << name_of(from) << " to " << name_of(to);
    }
  }
}

TEST(states, S28_a_p_changes_along_the_table_and_no_other_way) {
  for (auto const from : p_states) {
    for (auto const to : p_states) {
      EXPECT_EQ(is_legal(from, to), p_edges.contains({from, to})) << name_of(from) << " to " << name_of(to);
    }
  }
}

TEST(states, every_state_and_reason_has_a_name_of_its_own) {
  std::set<std::string> names;
  for (auto const state : g_states) EXPECT_TRUE(names.insert(name_of(state)).second) << name_of(state);
  names.clear();
  for (auto const state : p_states) EXPECT_TRUE(names.insert(name_of(state)).second) << name_of(state);
  names.clear();
  for (auto const state : m_states) EXPECT_TRUE(names.insert(name_of(state)).second) << name_of(state);
  names.clear();
  for (auto const reason :
       {wait_reason::none, wait_reason::semaphore, wait_reason::mutex, wait_reason::wait_group, wait_reason::once,
        wait_reason::join, wait_reason::stack_memory, wait_reason::read_lock, wait_reason::write_lock,
        wait_reason::condition_variable, wait_reason::latch, wait_reason::barrier}) {
    EXPECT_TRUE(names.insert(name_of(reason)).second) << name_of(reason);
  }
  EXPECT_FALSE(names.contains("?"));
}

TEST(states, S28_a_legal_transition_changes_the_state) {
  G g;
  g.transition(g_status::idle, g_status::dead);
  g.transition(g_status::dead, g_status::unstarted);
  EXPECT_EQ(g.status.load(relaxed), g_status::unstarted);
}

class illegal_transitions : public test::fatal_test {};

TEST_F(illegal_transitions, S28_a_goroutines_aborts_with_both_states_named) {
  if (!debug_checks)
    GTEST_SKIP() << "goroutines are checked in builds with THRUM_DEBUG_CHECKS: they are counted in nanoseconds";
  EXPECT_FATAL(
      {
        G g;
        g.id = 17;
        g.status.store(g_status::waiting, relaxed);
        g.transition(g_status::waiting, g_status::running);
      },
      "internal error: goroutine 17 cannot go from waiting to running");
}

TEST_F(illegal_transitions, S28_a_goroutine_that_is_not_where_it_is_said_to_be_aborts_with_its_real_state) {
  if (!debug_checks) GTEST_SKIP() << "goroutines are checked in builds with THRUM_DEBUG_CHECKS";
  EXPECT_FATAL(
      {
        G g;
        g.id = 17;
        g.status.store(g_status::dead, relaxed);
        g.transition(g_status::running, g_status::waiting);
      },
      "goroutine 17 cannot go from running to waiting: it is dead");
}

TEST_F(illegal_transitions, S28_a_ps_aborts_in_every_build) {
  EXPECT_FATAL(
      {
        auto const s = std::make_unique<Sched>(settings{});
        P& p = *s->procs[0];
        p.transition(p_status::stopped, p_status::idle);
        p.transition(p_status::idle, p_status::syscall);
      },
      "internal error: P 0 cannot go from idle to syscall: it is idle");
}

TEST_F(illegal_transitions, S28_a_p_that_is_not_where_it_is_said_to_be_aborts) {
  EXPECT_FATAL(
      {
        auto const s = std::make_unique<Sched>(settings{});
        s->procs[0]->transition(p_status::running, p_status::idle);
      },
      "P 0 cannot go from running to idle: it is stopped");
}

}  // namespace
}  // namespace thrum::rt
