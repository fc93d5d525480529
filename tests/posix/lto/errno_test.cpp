// T08 where the compiler sees everything: this file and thrum::posix are compiled at -O3 and optimised together at link
// time. The compiler then computes the address of errno once in faults_of, and keeps it across every call and its park.
// Between two rounds each goroutine is moved to another thread by force.
#include "os/thread.h"
#include "posix/both_ways.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/slices.h"
#include <thrum/thrum.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <vector>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

namespace thrum::test {
namespace {

using namespace std::chrono_literals;

// What one goroutine has for itself.
struct descriptors {
  both_ends pipe = make_pipe();
  both_ends sockets = make_sockets();
  both_ends lonely = make_sockets();  // one end is closed
  int events = ::epoll_create1(EPOLL_CLOEXEC);

  descriptors() {
    timeval const limit{0, 1000};
    EXPECT_EQ(::setsockopt(sockets.first, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit), 0);
    lonely.close_second();
  }
  ~descriptors() { ::close(events); }
  descriptors(descriptors const&) = delete;
  descriptors& operator=(descriptors const&) = delete;

  static both_ends make_sockets() {
    int fds[2]{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    return {fds[0], fds[1]};
  }
};

// One function, as programs have it. Nothing in it makes the compiler compute the address of errno a second time. No
// other goroutine uses `own`.
[[gnu::noinline]] int faults_of(descriptors const& at, int own) {
  int faults = 0;
  char bytes[4]{};
  auto const kept = [&](bool good) {
    if (!good || errno != own) ++faults;
    errno = own;
  };
  auto const failed = [&](long outcome, int why) {
    if (outcome != -1 || errno != why) ++faults;
    errno = own;
  };
  errno = own;
  kept(::read(at.pipe.first, bytes, 1) == 1);             // waits for the partner
  failed(::recv(at.sockets.first, bytes, 1, 0), EAGAIN);  // waits until its time is over
  kept(::send(at.sockets.second, "ab", 2, 0) == 2);
  kept(::recv(at.sockets.first, bytes, 4, 0) == 2);
  failed(::send(at.lonely.first, "x", 1, MSG_NOSIGNAL), EPIPE);
  failed(::recv(at.pipe.second, bytes, 1, 0), ENOTSOCK);
  pollfd one{at.pipe.first, POLLIN, 0};
  kept(::poll(&one, 1, 1) >= 0);
  timespec const length{0, 50'000};
  kept(::nanosleep(&length, nullptr) == 0);
  timespec const odd{0, 2'000'000'000};
  failed(::nanosleep(&odd, nullptr), EINVAL);
  kept(::usleep(20) == 0);
  fd_set none;
  FD_ZERO(&none);
  timeval soon{0, 100};
  kept(::select(0, &none, nullptr, nullptr, &soon) == 0);
  soon = {-1, 0};
  failed(::select(0, &none, nullptr, nullptr, &soon), EINVAL);
  epoll_event event{};
  kept(::epoll_wait(at.events, &event, 1, 1) == 0);
  failed(::epoll_wait(at.pipe.first, &event, 1, 1), EINVAL);
  iovec part{bytes, 1};
  failed(::readv(at.pipe.second, &part, 1), EBADF);
  failed(::write(at.pipe.first, bytes, 1), EBADF);
  sockaddr_in no_server{};
  no_server.sin_family = AF_INET;
  no_server.sin_port = htons(1);
  no_server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int const fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  failed(::connect(fd, reinterpret_cast<sockaddr*>(&no_server), sizeof no_server), ECONNREFUSED);  // by another thread
  failed(::accept(fd, nullptr, nullptr), EINVAL);                                                  // does not listen
  kept(::close(fd) == 0);
  return faults;
}

// Not beside a call of thrum's, over which its address is not to be kept.
[[gnu::noinline]] void spoil_errno(int with) { errno = with; }

// Yields, and returns whether the goroutine continued on another thread.
bool moved_to_another_thread() {
  int const before = rt::os::current_tid();
  for (int turns = 0; turns < 100; ++turns) {
    thrum::yield();
    if (rt::os::current_tid() != before) return true;
  }
  return false;
}

class posix_errno_lto : public at_every_width {};
THRUM_AT_WIDTHS(posix_errno_lto, 2, 8);

TEST_P(posix_errno_lto, T08_errno_is_where_the_caller_looks_for_it_after_every_call) {
  with_slices_of const slices(100us);
  run([] {
    constexpr int pairs = 16;
    int const rounds = static_cast<int>(scaled(100, 20));
    std::atomic<int> faults{0};
    std::atomic<int> moves{0};
    std::vector<descriptors> of(pairs);
    wait_group all;
    for (int i = 0; i < pairs; ++i) {
      descriptors const& mine = of[static_cast<std::size_t>(i)];
      all.go([&, i, rounds] {
        for (int round = 0; round < rounds; ++round) {
          faults += faults_of(mine, 1000 + i);
          if (moved_to_another_thread()) ++moves;
        }
      });
      all.go([&, i, rounds] {
        for (int round = 0; round < rounds; ++round) {
          EXPECT_EQ(::write(mine.pipe.second, "x", 1), 1);
          spoil_errno(2000 + i);
          thrum::yield();
        }
      });
    }
    all.wait();
    EXPECT_EQ(faults, 0);
    EXPECT_GT(moves, 0);
  });
}

}  // namespace
}  // namespace thrum::test
