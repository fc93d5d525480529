// S14: which thread gets a P that is taken from a system call, step by step on one thread (core/claims.h).
#include "core/claims.h"

#include "core/m.h"
#include "support/bare_sched.h"

#include <gtest/gtest.h>

namespace thrum::rt {
namespace {

using test::bare_sched;

// Its M has gone into a call.
P& in_call(bare_sched& s, int number) {
  P& p = s.p(number);
  M& m = s.m(number);
  m.p = nullptr;
  m.away_from.store(&p, relaxed);
  p.status.store(p_status::syscall, release);
  return p;
}

// Whether it was won.
bool take(P& p) {
  claims all;
  static_cast<void>(all.add(p));
  all.settle();
  P* const won = all.take();
  EXPECT_TRUE(won == nullptr || won == &p);
  EXPECT_EQ(all.take(), nullptr);
  EXPECT_EQ(p.claimed.load(relaxed), claim_for::none) << "no M waits";
  return won != nullptr;
}

TEST(claims, S14_one_that_is_in_a_call_is_taken_and_its_m_told) {
  bare_sched s(1);
  P& p = in_call(s, 0);
  EXPECT_TRUE(take(p));
  EXPECT_EQ(p.status.load(relaxed), p_status::running);
  EXPECT_EQ(s.m(0).away_from.load(relaxed), nullptr);
  EXPECT_FALSE(take(p)) << "once";
}

TEST(claims, S14_one_that_is_in_no_call_is_left_alone) {
  bare_sched s(1);
  EXPECT_FALSE(take(s.p(0)));
  EXPECT_EQ(s.p(0).status.load(relaxed), p_status::running);
}

TEST(claims, S14_one_whose_m_is_on_its_way_is_left_to_it) {
  bare_sched s(1);
  P& p = in_call(s, 0);
  s.m(0).in_runtime.store(true, relaxed);
  EXPECT_FALSE(take(p));
  EXPECT_EQ(p.status.load(relaxed), p_status::syscall);
  EXPECT_EQ(s.m(0).away_from.load(relaxed), &p);
  s.m(0).in_runtime.store(false, relaxed);
  EXPECT_TRUE(take(p)) << "it was interrupted, and sleeps on";
}

// Between the claim and the end of it.
TEST(claims, S14_one_whose_m_comes_back_meanwhile_is_left_to_it) {
  bare_sched s(2);
  P& returns = in_call(s, 0);
  P& stays = in_call(s, 1);
  claims all;
  EXPECT_TRUE(all.add(returns));
  EXPECT_TRUE(all.add(stays));
  s.m(0).in_runtime.store(true, relaxed);
  all.settle();
  EXPECT_EQ(all.take(), &stays);
  EXPECT_EQ(all.take(), nullptr);
  EXPECT_EQ(returns.claimed.load(relaxed), claim_for::none);
  EXPECT_EQ(s.m(0).away_from.load(relaxed), &returns);
}

TEST(claims, S14_two_claimants_never_take_the_same_p) {
  bare_sched s(1);
  P& p = in_call(s, 0);
  claims first;
  claims second;
  EXPECT_TRUE(first.add(p));
  EXPECT_FALSE(second.add(p));
  second.settle();
  EXPECT_EQ(second.take(), nullptr);
  EXPECT_EQ(p.claimed.load(relaxed), claim_for::call) << "the first one's";
  first.settle();
  EXPECT_EQ(first.take(), &p);
}

// A seat that another run has taken over: its M is away from a P of that one.
TEST(claims, S38_one_whose_m_is_away_from_another_p_is_left_alone) {
  bare_sched s(2);
  P& p = in_call(s, 0);
  s.m(0).away_from.store(&s.p(1), relaxed);
  EXPECT_FALSE(take(p));
  EXPECT_EQ(s.m(0).away_from.load(relaxed), &s.p(1));
}

TEST(claims, S14_many_are_taken_at_once) {
  bare_sched s(64);
  for (int i = 0; i < 64; i += 2) in_call(s, i);
  int taken = 0;
  take_from_calls(s->procs, [&](P& p) {
    EXPECT_EQ(p.id % 2, 0);
    ++taken;
  });
  EXPECT_EQ(taken, 32);
}

}  // namespace
}  // namespace thrum::rt
