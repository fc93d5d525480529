// What sysmon does if a descriptor becomes ready beside an idle P while the M that slept in the poller runs a goroutine
// (sched/poll.h).
#include "support/first_thread.h"
#include "support/goroutines.h"
#include "support/hogs.h"
#include "support/run_at.h"
#include "support/tries.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

namespace thrum::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

class pipe_of_bytes {
 public:
  pipe_of_bytes() : in_(make(ends_)) {}
  ~pipe_of_bytes() { ::close(ends_[1]); }
  pipe_of_bytes(pipe_of_bytes const&) = delete;
  pipe_of_bytes& operator=(pipe_of_bytes const&) = delete;

  void put() const { EXPECT_EQ(::write(ends_[1], "x", 1), 1); }
  void take() {
    char byte = 0;
    EXPECT_EQ(in_.read_full({&byte, 1}), 1U);
  }

 private:
  static int make(int* ends) {
    EXPECT_EQ(::pipe(ends), 0);
    return ends[0];
  }
  int ends_[2] = {-1, -1};
  fd in_;
};

// All Ps are idle, and an M sleeps in the poller.
bool all_wait_in_the_poller(rt::Sched const& s) { return s.poll.sleepers() == 1 && s.idle.all_idle(); }

std::uint64_t late_polls(rt::Sched const& s) { return s.sysmon.late_polls.load(rt::relaxed); }
std::uint64_t looks(rt::Sched const& s) { return s.sysmon.looks.load(rt::relaxed); }

// One goroutine reads a byte. Then a second pipe has a byte for another goroutine, and the first one computes until
// that goroutine has read it, and then `computes`.
template <class Compute>
void read_beside_a_computing_reader(pipe_of_bytes& first, pipe_of_bytes& second, Compute computes) {
  rt::Sched const& s = this_sched();
  std::atomic<bool> second_done{false};
  wait_group readers;
  readers.go([&] {
    first.take();
    second.put();
    EXPECT_TRUE(spin_until([&] { return second_done.load(); }));
    computes();
  });
  readers.go([&] {
    second.take();
    second_done = true;
  });
  std::thread writer([&] {
    EXPECT_TRUE(wait_until([&] { return all_wait_in_the_poller(s); }));
    first.put();
  });
  readers.wait();
  writer.join();
}

// How long sysmon takes for some looks at a goroutine that has computed for a while beside an idle P.
nanoseconds time_of_looks(rt::Sched const& s, std::uint64_t count) {
  // After it has found something, sysmon looks more often in any case.
  for (auto const until = clock::now() + 60ms; clock::now() < until;) rt::cpu_relax();
  std::uint64_t const before = looks(s);
  auto const began = clock::now();
  EXPECT_TRUE(spin_until([&] { return looks(s) - before >= count; }));
  return clock::now() - began;
}

TEST(late_polls, sysmon_looks_often_after_an_event_has_waited_beside_an_idle_p) {
  constexpr std::uint64_t count = 40;
  // 100 ms is ten times what is needed. At its slowest pace sysmon takes 400 ms.
  nanoseconds const most = 100ms * slowness();
  run_at(2, [most] {
    wait_away_from_the_first_thread();
    rt::Sched const& s = this_sched();
    pipe_of_bytes first;
    pipe_of_bytes second;
    auto const measure = [&] {
      nanoseconds took{0};
      std::uint64_t const before = late_polls(s);
      // An M that searches may poll before sysmon does.
      for (int rounds = 0; took == 0ns && rounds < 100; ++rounds) {
        read_beside_a_computing_reader(first, second, [&] {
          if (late_polls(s) != before) took = time_of_looks(s, count);
        });
      }
      EXPECT_NE(took, 0ns) << "sysmon has found no event beside the idle P";
      return took;
    };
    auto const took = in_one_of(5, measure, [&](nanoseconds t) { return t <= most; });
    std::cout << count << " looks in " << took.count() / 1000 << " us\n";
    EXPECT_LE(took, most);
  });
}

// Each event comes while an M sleeps in the poller, and its goroutine is done before the next one comes.
TEST(late_polls, quick_events_cost_sysmon_nothing) {
  constexpr int count = 300;
  run_at(2, [] {
    wait_away_from_the_first_thread();
    rt::Sched const& s = this_sched();
    pipe_of_bytes bytes;
    std::atomic<int> taken{0};
    std::uint32_t before = 0;
    std::uint64_t const late_before = late_polls(s);
    std::thread writer([&] {
      for (int i = 0; i < count; ++i) {
        EXPECT_TRUE(wait_until([&] { return taken == i && all_wait_in_the_poller(s); }));
        if (i == 0) before = s.sysmon.notify_word();
        bytes.put();
      }
    });
    for (; taken < count; ++taken) bytes.take();
    std::uint32_t const after = s.sysmon.notify_word();
    blocking([&] { writer.join(); });
    EXPECT_EQ(late_polls(s), late_before) << "no event has waited";
    EXPECT_EQ(after % (1U << 16U), before % (1U << 16U)) << "no M nudges sysmon for such events";
  });
}

}  // namespace
}  // namespace thrum::test
