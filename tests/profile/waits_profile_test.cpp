// The block profile and the mutex profile.
#include "debug/symbols.h"
#include "os/late_code.h"
#include "profile/pprof_tool.h"
#include "profile/profile_reader.h"
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/wait_until.h"
#include <thrum/profile.h>
#include <thrum/thrum.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using rt::wait_reason;
using test::profile_sample;
using test::read_profile;
using test::read_profile_result;
using test::run_at;
using test::sum_of;
using test::wait_until;
using test::waiting_for;

bool has_names() { return rt::os::loader_can_be_asked && rt::symbols().reads_files(); }
#define THRUM_SKIP_WITHOUT_NAMES_OF_WAITS() \
  if (!has_names()) GTEST_SKIP() << "no libdw, or no stacks here: no names of functions to look for"

// The profiles grow for as long as the process lives, so a test compares what is there before and after.
struct sums {
  std::int64_t waits = 0;
  std::int64_t ns = 0;
};
sums sums_in(read_profile_result const& from, std::string_view function, std::string const& reason) {
  auto const is_wanted = [&](profile_sample const& s) { return s.has(function) && s.label("reason") == reason; };
  return {sum_of(from, 0, is_wanted), sum_of(from, 1, is_wanted)};
}

class wait_profiles : public testing::Test {
 protected:
  ~wait_profiles() override {
    profile::set_block_rate(0ns);
    profile::set_mutex_rate(0);
  }
};

[[gnu::noinline]] void wait_for_a_parcel(chan<int> const& from) {
  static_cast<void>(from.recv());
  asm volatile("");
}
[[gnu::noinline]] void wait_at_a_gate(wait_group& gate) {
  gate.wait();
  asm volatile("");
}
[[gnu::noinline]] void hold_while_another_waits(mutex& door, wait_group& all) {
  door.lock();
  all.go([&] {
    door.lock();
    door.unlock();
  });
  EXPECT_TRUE(wait_until([] { return waiting_for(wait_reason::mutex) == 1; }));
  door.unlock();
  asm volatile("");
}
[[gnu::noinline]] void write_while_readers_wait(shared_mutex& door, wait_group& all, int readers) {
  door.lock();
  for (int i = 0; i < readers; ++i) {
    all.go([&] {
      door.lock_shared();
      door.unlock_shared();
    });
  }
  EXPECT_TRUE(wait_until([&] { return waiting_for(wait_reason::read_lock) == readers; }));
  door.unlock();
  asm volatile("");
}

TEST_F(wait_profiles, are_off_until_a_rate_is_set) {
  THRUM_SKIP_WITHOUT_NAMES_OF_WAITS();
  run_at(2, [] {
    auto const before = sums_in(read_profile(profile::blocks()), "wait_for_a_parcel", "chan receive");
    chan<int> box;
    auto receiver = spawn([&] { wait_for_a_parcel(box); });
    EXPECT_TRUE(wait_until([] { return waiting_for(wait_reason::chan_receive) == 1; }));
    box.send(1);
    receiver.join();
    auto const after = sums_in(read_profile(profile::blocks()), "wait_for_a_parcel", "chan receive");
    EXPECT_EQ(before.waits, after.waits);
  });
}

TEST_F(wait_profiles, have_each_wait_at_the_rate_of_one) {
  THRUM_SKIP_WITHOUT_NAMES_OF_WAITS();
  run_at(2, [] {
    EXPECT_EQ(0ns, profile::set_block_rate(1ns));
    EXPECT_EQ(1ns, profile::set_block_rate(1ns));
    chan<int> box;
    wait_group gate;
    wait_group all;
    gate.add(1);
    for (int i = 0; i < 3; ++i) all.go([&] { wait_for_a_parcel(box); });
    for (int i = 0; i < 2; ++i) all.go([&] { wait_at_a_gate(gate); });
    EXPECT_TRUE(wait_until(
        [] { return waiting_for(wait_reason::chan_receive) == 3 && waiting_for(wait_reason::wait_group) == 2; }));
    sleep_for(20ms);
    gate.done();
    box.close();
    all.wait();
    auto const made = read_profile(profile::blocks());
    using type = read_profile_result::type;
    EXPECT_EQ((std::vector<type>{{"contentions", "count"}, {"delay", "nanoseconds"}}), made.types);
    auto const parcels = sums_in(made, "wait_for_a_parcel", "chan receive");
    EXPECT_EQ(3, parcels.waits);
    EXPECT_LE(60'000'000, parcels.ns);
    auto const gates = sums_in(made, "wait_at_a_gate", "wait group");
    EXPECT_EQ(2, gates.waits);
    EXPECT_LE(40'000'000, gates.ns);
    EXPECT_EQ(0, sum_of(made, 0, [](profile_sample const& s) { return s.label("reason") == "sleep"; }));
    for (profile_sample const& one : made.samples) EXPECT_FALSE(one.has("thrum::rt::"));
  });
}

TEST_F(wait_profiles, of_short_waits_is_about_right_in_sum) {
  THRUM_SKIP_WITHOUT_NAMES_OF_WAITS();
  run_at(1, [] {
    profile::set_block_rate(1ms);
    constexpr int rounds = 20'000;
    auto const begin = clock::now();
    chan<int> box;
    auto receiver = spawn([&] {
      for (int i = 0; i < rounds; ++i) wait_for_a_parcel(box);
    });
    for (int i = 0; i < rounds; ++i) {
      while (waiting_for(wait_reason::chan_receive) == 0) thrum::yield();
      box.send(i);
    }
    receiver.join();
    auto const took = std::chrono::nanoseconds(clock::now() - begin).count();
    auto const sum = sums_in(read_profile(profile::blocks()), "wait_for_a_parcel", "chan receive");
    EXPECT_LT(sum.ns, 10 * took + 100'000'000);
    EXPECT_LT(0, sum.ns);
  });
}

TEST_F(wait_profiles, of_mutexes_names_the_place_that_releases_the_lock) {
  THRUM_SKIP_WITHOUT_NAMES_OF_WAITS();
  run_at(2, [] {
    EXPECT_EQ(0, profile::set_mutex_rate(1));
    mutex door;
    shared_mutex shared;
    wait_group all;
    hold_while_another_waits(door, all);
    write_while_readers_wait(shared, all, 4);
    all.wait();
    auto const made = read_profile(profile::mutexes());
    EXPECT_EQ(1, sums_in(made, "hold_while_another_waits", "mutex").waits);
    EXPECT_LT(0, sums_in(made, "hold_while_another_waits", "mutex").ns);
    EXPECT_EQ(4, sums_in(made, "write_while_readers_wait", "shared mutex (read)").waits);
  });
}

TEST_F(wait_profiles, of_mutexes_leaves_out_a_wait_that_was_given_up) {
  run_at(1, [] {
    profile::set_mutex_rate(1);
    auto const count = [] {
      return sum_of(read_profile(profile::mutexes()), 0, [](profile_sample const&) { return true; });
    };
    auto const before = count();
    mutex door;
    door.lock();
    auto waiter = spawn([&] { EXPECT_FALSE(door.try_lock_for(1ms)); });
    waiter.join();
    door.unlock();
    EXPECT_EQ(before, count());
  });
}

TEST_F(wait_profiles, can_be_read_and_set_without_a_run) {
  EXPECT_EQ(0ns, profile::set_block_rate(1us));
  EXPECT_EQ(1us, profile::set_block_rate(0ns));
  EXPECT_THROW(profile::set_block_rate(-1ns), std::invalid_argument);
  EXPECT_THROW(profile::set_mutex_rate(-1), std::invalid_argument);
  EXPECT_NO_THROW(read_profile(profile::blocks()));
  EXPECT_NO_THROW(read_profile(profile::mutexes()));
}

TEST_F(wait_profiles, are_opened_by_go_tool_pprof) {
  THRUM_SKIP_WITHOUT_PPROF();
  std::string made;
  run_at(2, [&] {
    profile::set_mutex_rate(1);
    mutex door;
    wait_group all;
    hold_while_another_waits(door, all);
    all.wait();
    made = profile::mutexes();
  });
  auto const top = test::run_pprof("-top -symbolize=none", made);
  EXPECT_EQ(0, top.code) << top.text;
  EXPECT_NE(std::string::npos, top.text.find("Type: delay")) << top.text;
}

}  // namespace
}  // namespace thrum
