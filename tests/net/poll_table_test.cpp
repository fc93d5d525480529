#include "core/poll_table.h"

#include "support/fake_gs.h"

#include <gtest/gtest.h>

namespace thrum::rt {
namespace {

using namespace poll_words;

constexpr std::uint32_t this_run = 7;
constexpr std::uint32_t earlier_run = 6;

class poll_table : public testing::Test {
 protected:
  poll_table() : d_(take_poll_desc(5, poll_kind::tcp_socket)) {}
  ~poll_table() override { free_poll_desc(*d_); }

  // As if g had parked there.
  static void wait(poll_side& side, G& g, std::uint32_t epoch) {
    side.epoch.store(epoch, relaxed);
    side.word.store(with(side.word.load(relaxed), naming(g)), relaxed);
  }
  g_list event(std::uint32_t what, std::uint64_t data) {
    os::poll_event const one{data, what};
    g_list found;
    EXPECT_EQ(take_events(&one, 1, this_run, found), poll_notified::no);
    return found;
  }
  g_list event(std::uint32_t what) { return event(what, poll_data_of(*d_)); }
  poll_word state(poll_side_name which) { return payload(d_->side(which).word.load(relaxed)); }

  poll_desc* d_;
  alignas(G) G g_;
};

TEST_F(poll_table, an_event_without_a_waiter_is_kept) {
  EXPECT_TRUE(event(os::poll_says::readable).empty());
  EXPECT_EQ(state(poll_side_name::read), event_came);
  EXPECT_EQ(state(poll_side_name::write), nothing);
  EXPECT_FALSE(d_->ended.load(relaxed));
  EXPECT_TRUE(event(os::poll_says::writable | os::poll_says::ended).empty());
  EXPECT_EQ(state(poll_side_name::write), event_came);
  EXPECT_TRUE(d_->ended.load(relaxed));
}

TEST_F(poll_table, an_event_brings_out_the_waiter_for_that_direction) {
  wait(d_->side(poll_side_name::write), g_, this_run);
  EXPECT_TRUE(event(os::poll_says::readable).empty());
  g_list const found = event(os::poll_says::readable | os::poll_says::writable);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.front(), &g_);
  EXPECT_TRUE(event(os::poll_says::writable).empty()) << "once";
}

TEST_F(poll_table, a_waiter_that_is_arriving_finds_the_event_itself) {
  poll_side& side = d_->side(poll_side_name::read);
  side.word.store(with(side.word.load(relaxed), arriving), relaxed);
  EXPECT_TRUE(event(os::poll_says::readable).empty());
  EXPECT_EQ(state(poll_side_name::read), event_came);
}

TEST_F(poll_table, T12_a_waiter_that_an_earlier_run_left_behind_is_not_brought_out) {
  wait(d_->side(poll_side_name::read), g_, earlier_run);
  EXPECT_TRUE(event(os::poll_says::readable).empty());
  wait(d_->side(poll_side_name::read), g_, earlier_run);
  EXPECT_EQ(take_poll_waiter(d_->side(poll_side_name::read), this_run), nullptr);
  EXPECT_EQ(state(poll_side_name::read), naming(g_)) << "and stays there until a goroutine waits";
}

TEST_F(poll_table, close_and_deadlines_take_the_waiter_and_leave_events_alone) {
  poll_side& side = d_->side(poll_side_name::read);
  EXPECT_EQ(take_poll_waiter(side, this_run), nullptr);
  wait(side, g_, this_run);
  EXPECT_EQ(take_poll_waiter(side, this_run), &g_);
  EXPECT_EQ(state(poll_side_name::read), nothing);
  static_cast<void>(event(os::poll_says::readable));
  EXPECT_EQ(take_poll_waiter(side, this_run), nullptr);
  EXPECT_EQ(state(poll_side_name::read), event_came);
}

TEST_F(poll_table, NE14_an_event_of_an_earlier_generation_changes_nothing) {
  std::uint64_t const old = poll_data_of(*d_);
  free_poll_desc(*d_);
  EXPECT_TRUE(event(os::poll_says::readable, old).empty());
  poll_desc* const before = d_;
  d_ = take_poll_desc(6, poll_kind::other);
  ASSERT_EQ(d_, before) << "the record is used again";
  wait(d_->side(poll_side_name::read), g_, this_run);
  EXPECT_TRUE(event(os::poll_says::readable | os::poll_says::writable, old).empty());
  EXPECT_EQ(waiter(d_->side(poll_side_name::read).word.load(relaxed)), &g_);
  EXPECT_EQ(state(poll_side_name::write), nothing);
  EXPECT_EQ(event(os::poll_says::readable).size(), 1U);
}

TEST_F(poll_table, a_notification_is_told_apart) {
  os::poll_event const both[]{{poll_data_of(*d_), os::poll_says::readable}, {0, os::poll_says::notified}};
  g_list found;
  EXPECT_EQ(take_events(both, 2, this_run, found), poll_notified::yes);
  EXPECT_EQ(state(poll_side_name::read), event_came);
}

}  // namespace
}  // namespace thrum::rt
