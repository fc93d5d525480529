// The bench program without a runtime: each workload is written by hand on top of the kernel. No runtime can be
// expected to do better, and the difference is what a runtime costs.
#include "../echo_load.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include <linux/futex.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace {

using namespace std::chrono_literals;
using bench::workload;
using std::chrono::steady_clock;

int procs_of_run = 1;  // global, because the workloads' functions have no argument

int checked(char const* call, int answer) {
  if (answer < 0) {
    bench::fail(1, std::string(call) + ": errno " + std::to_string(errno));
  }
  return answer;
}

// ---- echo: one event loop per thread, each with its own epoll instance and its own connections

// Edge-triggered: reads until no more bytes are available. Returns false if the client has closed.
bool answer(int connection) {
  std::array<char, 4096> bytes;
  for (;;) {
    ssize_t const n = ::recv(connection, bytes.data(), bytes.size(), 0);
    if (n < 0) {
      return errno == EAGAIN;
    }
    if (n == 0 || ::send(connection, bytes.data(), static_cast<std::size_t>(n), MSG_NOSIGNAL) != n) {
      return false;
    }
    if (static_cast<std::size_t>(n) < bytes.size()) {
      // A short read means that no more bytes are available. Bytes that come later cause a new event.
      return true;
    }
  }
}

void loop(int events_of) {
  std::array<epoll_event, 128> events;
  for (;;) {
    int const count = ::epoll_wait(events_of, events.data(), static_cast<int>(events.size()), -1);
    for (int i = 0; i < count; ++i) {
      int const connection = events[static_cast<std::size_t>(i)].data.fd;
      if (!answer(connection)) {
        ::close(connection);
      }
    }
  }
}

// Distributes the connections over the loops in turn.
void serve(int listener, std::vector<int> const& loops) {
  for (std::size_t next = 0;; ++next) {
    int const connection = checked("accept4", ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    int const on = 1;
    checked("setsockopt", ::setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on));
    epoll_event wanted{};
    wanted.events = EPOLLIN | EPOLLET;
    wanted.data.fd = connection;
    checked("epoll_ctl", ::epoll_ctl(loops[next % loops.size()], EPOLL_CTL_ADD, connection, &wanted));
  }
}

unsigned listen_on_loopback(int listener) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  socklen_t length = sizeof address;
  checked("bind", ::bind(listener, any, length));
  checked("listen", ::listen(listener, SOMAXCONN));
  checked("getsockname", ::getsockname(listener, any, &length));
  return ntohs(address.sin_port);
}

std::vector<bench::figure> echo_with(int connections) {
  bench::allow_many_files();
  int const listener = checked("socket", ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  unsigned const port = listen_on_loopback(listener);
  std::vector<int> loops;
  for (int i = 0; i < procs_of_run; ++i) {
    loops.push_back(checked("epoll_create1", ::epoll_create1(EPOLL_CLOEXEC)));
    std::thread(loop, loops.back()).detach();  // runs until the program ends
  }
  std::thread([listener, loops] { serve(listener, loops); }).detach();
  return bench::run_echo_client(port, connections).figures();
}

// ---- idle: a thread that sleeps until its time comes, and one that wakes every 10 ms, as a monitor of event loops
// does

void sleep_until(steady_clock::time_point when) {
  auto const since_start = when.time_since_epoch();
  auto const whole = std::chrono::duration_cast<std::chrono::seconds>(since_start);
  timespec const until{whole.count(), std::chrono::nanoseconds(since_start - whole).count()};
  static std::uint32_t never_changes = 0;
  ::syscall(SYS_futex, &never_changes, FUTEX_WAIT_BITSET_PRIVATE, 0, &until, nullptr, FUTEX_BITSET_MATCH_ANY);
}

double nearly_idle() {
  std::atomic<bool> over = false;
  auto const start = steady_clock::now();
  double const cpu_ns = bench::cpu_nanoseconds_of([&] {
    std::thread monitor([&] {
      while (!over) {
        sleep_until(steady_clock::now() + 10ms);
      }
    });
    while (steady_clock::now() - start < 5s) {
      sleep_until(steady_clock::now() + 1ms);
    }
    over = true;
    monitor.join();
  });
  return 100 * cpu_ns / std::chrono::duration<double, std::nano>(steady_clock::now() - start).count();
}

constexpr std::array workloads{
    workload{"idle", [] { return bench::one("% CPU", nearly_idle()); }},
    workload{"echo", [] { return echo_with(100); }},
    workload{"echo_5000", [] { return echo_with(5'000); }},
};

}  // namespace

int main(int argc, char** argv) {
  return bench::command(argc, argv, "epoll and futex", workloads, [](int procs, auto const& body) {
    procs_of_run = procs;
    body();
  });
}
