// If a P is idle, a descriptor that becomes ready is noticed soon, also if the M that slept in the poller has found
// another event and its goroutine computes.
#include "os/clock.h"
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/tries.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <thread>
#include <vector>

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

void compute_for(nanoseconds length) {
  for (std::int64_t const until_ns = rt::os::monotonic_ns() + length.count(); rt::os::monotonic_ns() < until_ns;)
    rt::cpu_relax();
}

// Keeps the P until sysmon has found nothing to do for a while: its looks are 5 ms apart at least.
bool wait_until_sysmon_is_slow(rt::Sched const& s) {
  return spin_until([&] {
    std::uint64_t const before = s.sysmon.looks.load(rt::relaxed);
    compute_for(5ms);
    return s.sysmon.looks.load(rt::relaxed) == before;
  });
}

struct rounds {
  int nudges = 0;  // how often sysmon was told that the poller was left
  std::vector<nanoseconds> late;
};

// The first goroutine reads a byte and computes until the second has read one that came meanwhile.
rounds read_beside_a_computing_reader(int count) {
  rounds seen;
  rt::Sched const& s = this_sched();
  pipe_of_bytes first;
  pipe_of_bytes second;
  std::atomic<std::uint32_t> bell{0};
  std::atomic<int> first_done{0};
  std::atomic<int> second_done{0};
  wait_group readers;
  readers.go([&] {
    for (int i = 0; i < count; ++i) {
      first.take();
      seen.nudges += s.sysmon.notify_word() != bell ? 1 : 0;
      auto const began = clock::now();
      second.put();
      EXPECT_TRUE(spin_until([&] { return second_done > i; }));
      seen.late.emplace_back(clock::now() - began);
      EXPECT_TRUE(wait_until_sysmon_is_slow(s));
      ++first_done;
    }
  });
  readers.go([&] {
    for (int i = 0; i < count; ++i) {
      second.take();
      ++second_done;
    }
  });
  std::thread writer([&] {
    for (int i = 0; i < count; ++i) {
      EXPECT_TRUE(wait_until(
          [&] { return first_done == i && s.in_poll.load(rt::seq_cst) == 1 && s.idle_procs.load(rt::seq_cst) == 2; }));
      bell = s.sysmon.notify_word();
      first.put();
    }
  });
  readers.wait();
  writer.join();
  return seen;
}

// How late the second goroutine is depends on the machine, too. So what counts is that sysmon does not sleep on.
TEST(late_polls, a_descriptor_is_watched_soon_beside_a_reader_that_computes) {
  constexpr int count = 15;
  run_at(2, [] {
    leave_m0();
    rounds const seen = read_beside_a_computing_reader(count);
    std::cout << "late: " << spread_of(seen.late) << "; " << seen.nudges << " nudges\n";
    if (!limits_count()) return;  // what is delayed at random shows only that the readers go on at all
    EXPECT_GE(seen.nudges, count / 2) << "sysmon may have been awake by chance, but seldom";
  });
}

}  // namespace
}  // namespace thrum::test
