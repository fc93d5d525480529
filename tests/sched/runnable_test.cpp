// Making goroutines runnable: only one room can put them into queues, and each way of doing so wakes what it must.
#include "sched/runnable.h"

#include "support/bare_sched.h"
#include "support/fake_gs.h"

#include <type_traits>

#include <gtest/gtest.h>

namespace thrum::rt {
namespace {

using test::bare_sched;
using test::fake_gs;

template <class Queue>
concept puts_without_key = requires(Queue& queue, entry e) {
  queue.put(e);
}
|| requires(Queue& queue, entry e) { queue.swap_next(e); }
|| requires(Queue& queue, entry e) { queue.push(e); }
|| requires(Queue& queue, entry e) { queue.push_front(e); }
|| requires(Queue& queue, G& g) { queue.queue(g); }
|| requires(Queue& queue, G& g) { queue.post(g); };
static_assert(!puts_without_key<run_queue>);
static_assert(!puts_without_key<global_run_queue>);
static_assert(!puts_without_key<residents>);

template <class Key>
concept can_be_made_here = requires {
  Key{};
}
|| requires { Key(); };
static_assert(!can_be_made_here<push_key>, "only sched/runnable.* and tests/support/push_key.h make a key");
static_assert(!std::is_default_constructible_v<push_key>);

template <class Room>
concept gives_key = requires {
  Room::key();
};
static_assert(!gives_key<runnable_room>, "only the functions of the room get the key");
static_assert(gives_key<test_room>);

// A G in state `runnable`, as its waker has left it.
G& runnable(fake_gs& gs, std::size_t index) {
  gs[index].status.store(g_status::runnable, relaxed);
  return gs[index];
}

bool is_woken(bare_sched& s) { return s->idle.count() == 0 && s.m(1).next_p == &s.p(1); }

class one_idle_p : public testing::Test {
 protected:
  one_idle_p() { s_.make_idle(1); }

  bare_sched s_{2};
  fake_gs gs_{4};
};

TEST_F(one_idle_p, is_woken_for_a_goroutine_at_the_tail) {
  make_runnable(s_.m(0), runnable(gs_, 0), queue_place::tail);
  EXPECT_TRUE(is_woken(s_));
}

TEST_F(one_idle_p, is_woken_for_a_goroutine_in_the_global_queue) {
  make_runnable(s_.m(0), runnable(gs_, 0), queue_place::global);
  EXPECT_TRUE(is_woken(s_));
  EXPECT_EQ(s_->global_size.load(relaxed), 1U);
}

TEST_F(one_idle_p, is_woken_for_the_second_goroutine_in_runnext) {
  make_runnable(s_.m(0), runnable(gs_, 0), queue_place::next);
  EXPECT_FALSE(is_woken(s_)) << "the wake-up for the first one is put off";
  EXPECT_TRUE(s_.p(0).has_put_off.load(relaxed));
  make_runnable(s_.m(0), runnable(gs_, 1), queue_place::next);
  EXPECT_TRUE(is_woken(s_));
}

TEST_F(one_idle_p, is_woken_for_a_new_goroutine) {
  gs_[0].status.store(g_status::dead, relaxed);
  make_unstarted_runnable(s_.m(0), gs_[0]);
  EXPECT_TRUE(is_woken(s_));
}

TEST_F(one_idle_p, is_woken_for_the_second_goroutine_of_a_search) {
  search_batch(s_.m(0)).add(runnable(gs_, 0));
  EXPECT_FALSE(is_woken(s_)) << "the M that searches runs the first one itself";
  search_batch(s_.m(0)).add(runnable(gs_, 1));
  EXPECT_TRUE(is_woken(s_));
}

TEST_F(one_idle_p, is_woken_when_a_search_runs_another_goroutine_first) {
  search_batch(s_.m(0)).add(runnable(gs_, 0));
  publish_what_waits(s_.p(0));
  EXPECT_TRUE(is_woken(s_));
}

TEST_F(one_idle_p, is_woken_for_a_timers_goroutine_only_if_the_caller_does_not_search) {
  gs_[0].status.store(g_status::dead, relaxed);
  gs_[1].status.store(g_status::dead, relaxed);
  make_unstarted_runnable_by_timer(s_.m(0), gs_[0]);
  EXPECT_FALSE(is_woken(s_));
  s_.m(0).current = &gs_[2];
  make_unstarted_runnable_by_timer(s_.m(0), gs_[1]);
  s_.m(0).current = nullptr;
  EXPECT_TRUE(is_woken(s_));
}

TEST_F(one_idle_p, is_woken_after_a_publication_under_the_lock) {
  {
    global_publication locked(*s_);
    locked.put(runnable(gs_, 0));
    EXPECT_FALSE(is_woken(s_)) << "the lock is held";
  }
  EXPECT_TRUE(is_woken(s_));
}

TEST_F(one_idle_p, is_left_alone_by_a_publication_of_nothing) {
  { global_publication const locked(*s_); }
  EXPECT_FALSE(is_woken(s_));
}

// The M that gives a P up while the lock is held by the publication checks the global queue, so it runs the goroutine.
// Starting an M for it as well could end the program at the limit of threads.
TEST(publication_under_the_lock, starts_no_m_on_a_p_that_goes_idle_afterwards) {
  bare_sched s(2);
  fake_gs gs(1);
  {
    global_publication locked(*s);
    locked.put(runnable(gs, 0));
    s.m(1).p = nullptr;
    s->idle.put(s.p(1));
    s->ms.rest(s.m(1), 0);
  }
  EXPECT_EQ(s->idle.count(), 1);
  EXPECT_EQ(s.m(1).next_p, nullptr);
  EXPECT_EQ(s->idle.spinning(), 0);
  EXPECT_EQ(s.drain_global(), std::vector<long>{0});
}

// For the time in between the lock is free, so each release wakes for what was put before it.
TEST_F(one_idle_p, is_woken_each_time_that_a_publication_releases_the_lock) {
  global_publication locked(*s_);
  locked.put(runnable(gs_, 0));
  EXPECT_FALSE(is_woken(s_)) << "the lock is held";
  locked.release_lock();
  EXPECT_TRUE(is_woken(s_));
  locked.acquire_lock();
}

TEST_F(one_idle_p, is_woken_for_a_goroutine_that_moves_out_of_runnext) {
  make_runnable(s_.m(0), runnable(gs_, 0), queue_place::next);
  static_cast<void>(s_.p(0).queue.put(test::push, gs_.plain(1)));
  let_others_pass_runnext(s_.p(0));
  EXPECT_TRUE(is_woken(s_));
  EXPECT_EQ(s_.drain_run_queue(0), (std::vector<long>{1, 0}));
}

TEST_F(one_idle_p, is_woken_for_what_another_p_takes_from_the_global_queue) {
  for (std::size_t i = 0; i < 3; ++i) s_.put_global(gs_.plain(i));
  EXPECT_FALSE(is_woken(s_));
  EXPECT_EQ(test::number_of(take_from_global(s_.p(0)).plain), 0);
  EXPECT_TRUE(is_woken(s_));
  EXPECT_EQ(s_.p(0).queue.size(), 1U);
}

// A resident of an M goes to that M, whichever way it was made runnable.
TEST_F(one_idle_p, goes_to_the_m_whose_resident_becomes_runnable) {
  for (queue_place const where : {queue_place::next, queue_place::tail, queue_place::global}) {
    bare_sched s(2);
    s.make_idle(1);
    fake_gs gs(1);
    G& g = runnable(gs, 0);
    g.is_at_home = true;
    g.only_m = &s.m(1);
    s.m(1).residents.add();
    make_runnable(s.m(0), g, where);
    EXPECT_TRUE(is_woken(s));
    EXPECT_EQ(s.m(1).residents.first_posted(), &g);
    EXPECT_EQ(s.p(0).queue.waiting() + s->global_size.load(relaxed), 0U);
  }
}

}  // namespace
}  // namespace thrum::rt
