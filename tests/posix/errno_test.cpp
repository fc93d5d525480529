// T08: compiled code keeps the address of errno across a call. This file is compiled at -O3, and its goroutines are
// moved to other threads wherever that is allowed.
#include "posix/both_ways.h"
#include "support/scale.h"
#include "support/slices.h"

#include <atomic>
#include <chrono>

#include <poll.h>
#include <sys/socket.h>
#include <time.h>

namespace thrum::test {
namespace {

using namespace std::chrono_literals;

// As programs have it: one function uses errno before and after each call, and nothing makes the compiler compute the
// address of errno a second time.
[[gnu::noinline]] int faults_of(int read_end, int write_end) {
  int faults = 0;
  char byte = 0;
  errno = 0;
  long n = ::read(read_end, &byte, 1);  // waits
  if (n != 1 || errno != 0) ++faults;
  errno = 7;
  n = ::recv(write_end, &byte, 1, MSG_DONTWAIT);  // is no socket
  if (n != -1 || errno != ENOTSOCK) ++faults;
  timespec const length{0, 50'000};
  errno = 9;
  if (::nanosleep(&length, nullptr) != 0 || errno != 9) ++faults;
  pollfd one{read_end, POLLIN, 0};
  errno = 11;
  if (::poll(&one, 1, 1) < 0 || errno != 11) ++faults;
  timespec const odd{0, 2'000'000'000};
  if (::nanosleep(&odd, nullptr) != -1 || errno != EINVAL) ++faults;
  return faults;
}

// Not beside a call of thrum's, over which its address is not to be kept.
[[gnu::noinline]] void spoil_errno(int with) { errno = with; }

TEST(posix_errno, T08_errno_is_where_the_caller_looks_for_it) {
  with_slices_of const slices(100us);
  run_at(8, [] {
    constexpr int pairs = 24;
    int const rounds = static_cast<int>(scaled(300, 30));
    std::atomic<int> faults{0};
    wait_group all;
    std::vector<both_ends> pipes;
    for (int i = 0; i < pairs; ++i) pipes.push_back(make_pipe());
    for (int i = 0; i < pairs; ++i) {
      both_ends const& pipe = pipes[static_cast<std::size_t>(i)];
      all.go([&, rounds] {
        for (int round = 0; round < rounds; ++round) {
          faults += faults_of(pipe.first, pipe.second);
          thrum::yield();
        }
      });
      all.go([&, i, rounds] {
        for (int round = 0; round < rounds; ++round) {
          EXPECT_EQ(::write(pipe.second, "x", 1), 1);
          spoil_errno(100 + i);
          thrum::yield();
        }
      });
    }
    all.wait();
    EXPECT_EQ(faults, 0);
  });
}

}  // namespace
}  // namespace thrum::test
