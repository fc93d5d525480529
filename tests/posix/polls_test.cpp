// poll, select and epoll_wait.
#include "posix/polls.h"

#include "posix/both_ways.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <ctime>
#include <string>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <unistd.h>

namespace thrum::test {
namespace {

THRUM_AT_EVERY_WIDTH(posix_polls);  // also for the tests of this suite in other files

std::string shown(std::vector<pollfd> const& fds) {
  std::string all;
  for (pollfd const& each : fds) all += std::to_string(each.revents) + " ";
  return all;
}

answer poll_all(std::vector<pollfd>& fds, int ms) {
  long const r = ::poll(fds.data(), fds.size(), ms);
  int const error = errno;
  std::string const text = shown(fds);
  errno = error;
  return told(r, text);
}

TEST_P(posix_polls, poll_waits_for_the_first_of_many) {
  answers_alike(procs(), [](caller& c) {
    std::vector<both_ends> pipes;
    std::vector<pollfd> fds;
    for (int i = 0; i < 20; ++i) {
      pipes.push_back(make_pipe());
      fds.push_back({pipes.back().first, POLLIN, 0});
    }
    fds.push_back({pipes[7].first, POLLIN | POLLRDNORM, 0});  // once more
    fds.push_back({-5, POLLIN, 77});
    fds.push_back({pipes[0].second, 0, 0});
    answers said;
    partner const writes([&] {
      c.until_it_waits(1);
      EXPECT_EQ(::write(pipes[7].second, "x", 1), 1);
      c.until_it_waits(2);
      pipes[3].close_second();
    });
    c.next();
    said.push_back(poll_all(fds, -1));
    char byte = 0;
    said.push_back(told(::read(pipes[7].first, &byte, 1)));
    c.next();
    said.push_back(poll_all(fds, 30'000));
    return said;
  });
}

TEST_P(posix_polls, poll_has_a_limit) {
  answers_alike(procs(), [](caller&) {
    auto pipe = make_pipe();
    std::vector<pollfd> none{{pipe.first, POLLIN, 0}};
    std::vector<pollfd> negative{{-1, POLLIN, 5}};
    auto const began = clock::now();
    answers said{poll_all(none, 20), poll_all(negative, 20), told(::poll(nullptr, 0, 20))};
    timespec limit{0, 20'000'000};
    said.push_back(told(::ppoll(none.data(), 1, &limit, nullptr)));
    sigset_t mask;
    sigemptyset(&mask);
    said.push_back(told(::ppoll(none.data(), 1, &limit, &mask)));
    EXPECT_GE(clock::now() - began, std::chrono::milliseconds(100));
    timespec const odd{0, 1'000'000'000};
    said.push_back(told(::ppoll(none.data(), 1, &odd, nullptr)));
    said.push_back(poll_all(none, 0));
    int const gone = closed_number(pipe.first);
    std::vector<pollfd> closed{{gone, POLLIN, 0}, {pipe.first, POLLIN, 0}};
    said.push_back(poll_all(closed, -1));
    std::vector<pollfd> writable{{pipe.second, POLLOUT, 0}, {pipe.first, POLLIN, 0}};
    said.push_back(poll_all(writable, -1));
    return said;
  });
}

TEST_P(posix_polls, select_waits_and_says_what_is_left_of_its_time) {
  answers_alike(procs(), [](caller& c) {
    auto pipe = make_pipe();
    auto other = make_pipe();
    answers said;
    fd_set in;
    fd_set out;
    auto const fill = [&] {
      FD_ZERO(&in);
      FD_ZERO(&out);
      FD_SET(pipe.first, &in);
      FD_SET(other.first, &in);
    };
    int const fds = std::max(pipe.second, other.second) + 1;
    auto const note = [&](long r) {
      answer a = told(r);
      for (int const fd : {pipe.first, other.first, other.second}) {
        a.data += FD_ISSET(fd, &in) ? "i" : "-";
        a.data += FD_ISSET(fd, &out) ? "o" : "-";
      }
      said.push_back(a);
    };
    {
      partner const writes([&] {
        c.until_it_waits();
        EXPECT_EQ(::write(other.second, "x", 1), 1);
      });
      fill();
      c.next();
      note(::select(fds, &in, &out, nullptr, nullptr));
    }
    char byte = 0;
    said.push_back(told(::read(other.first, &byte, 1)));
    fill();
    timeval limit{0, 20'000};
    note(::select(fds, &in, nullptr, nullptr, &limit));
    said.push_back({limit.tv_sec, 0, std::to_string(limit.tv_usec)});
    fill();
    FD_SET(other.second, &out);
    limit = {3600, 0};
    note(::select(fds, &in, &out, nullptr, &limit));
    EXPECT_GE(limit.tv_sec, 3500);
    fill();
    timespec const short_time{0, 10'000'000};
    note(::pselect(fds, &in, nullptr, nullptr, &short_time, nullptr));
    limit = {0, 10'000};
    said.push_back(told(::select(0, nullptr, nullptr, nullptr, &limit)));
    limit = {-1, 0};
    fill();
    note(::select(fds, &in, nullptr, nullptr, &limit));
    said.push_back(told(::select(-1, nullptr, nullptr, nullptr, nullptr)));
    int const gone = closed_number(pipe.first);
    fill();
    FD_SET(gone, &in);
    said.push_back(told(::select(gone + 1, &in, nullptr, nullptr, nullptr)));
    return said;
  });
}

TEST_P(posix_polls, epoll_waits_for_what_the_program_has_in_it) {
  answers_alike(procs(), [](caller& c) {
    auto pipe = make_pipe();
    both_ends const poll{::epoll_create1(0), -1};
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u32 = 42;
    EXPECT_EQ(::epoll_ctl(poll.first, EPOLL_CTL_ADD, pipe.first, &event), 0);
    std::array<epoll_event, 4> got{};
    answers said{told(::epoll_wait(poll.first, got.data(), 4, 20))};
    {
      partner const writes([&] {
        c.until_it_waits();
        EXPECT_EQ(::write(pipe.second, "x", 1), 1);
      });
      c.next();
      said.push_back(told(::epoll_wait(poll.first, got.data(), 4, -1)));
    }
    said.push_back({static_cast<long>(got[0].data.u32)});
    said.push_back(told(::epoll_wait(poll.first, got.data(), 0, -1)));
    said.push_back(told(::epoll_wait(pipe.first, got.data(), 4, -1)));
    said.push_back(told(::epoll_wait(-1, got.data(), 4, -1)));
    sigset_t mask;
    sigemptyset(&mask);
    said.push_back(told(::epoll_pwait(poll.first, got.data(), 4, -1, &mask)));
    timespec const limit{0, 10'000'000};
    said.push_back(told(::epoll_pwait2(poll.first, got.data(), 4, &limit, nullptr)));
    return said;
  });
}

// Epoll refuses files. A file that is not asked for its contents is never ready, so the call waits for the others and
// for its time.
TEST_P(posix_polls, a_file_that_is_not_asked_for_what_it_has_does_not_disturb) {
  answers_alike(procs(), [](caller& c) {
    both_ends const file{::open("/dev/null", O_RDWR), ::open("/proc/self/exe", O_RDONLY)};
    answers said;
    for (short const events : {0, POLLPRI, POLLHUP, POLLRDHUP}) {
      std::vector<pollfd> only{{file.first, events, 0}, {file.second, events, 0}};
      said.push_back(poll_all(only, 10));
    }
    fd_set except;
    FD_ZERO(&except);
    FD_SET(file.second, &except);
    timeval limit{0, 10'000};
    said.push_back(told(::select(file.second + 1, nullptr, nullptr, &except, &limit)));
    said.push_back({FD_ISSET(file.second, &except) ? 1 : 0});
    auto pipe = make_pipe();
    partner const writes([&] {
      c.until_it_waits();
      EXPECT_EQ(::write(pipe.second, "x", 1), 1);
    });
    std::vector<pollfd> both{{file.first, 0, 0}, {pipe.first, POLLIN, 0}};
    c.next();
    said.push_back(poll_all(both, -1));
    return said;
  });
}

void do_nothing(int) {}

// Sends a signal to an unspecified thread of the process, every 200 us.
class signals_come {
 public:
  signals_come() {
    struct sigaction action {};
    action.sa_handler = do_nothing;
    action.sa_flags = SA_RESTART | SA_ONSTACK;
    sigaction(SIGUSR1, &action, &before_);
    sigevent event{};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGUSR1;
    EXPECT_EQ(timer_create(CLOCK_MONOTONIC, &event, &timer_), 0);
    itimerspec const often{{0, 200'000}, {0, 200'000}};
    EXPECT_EQ(timer_settime(timer_, 0, &often, nullptr), 0);
  }
  ~signals_come() {
    timer_delete(timer_);
    std::signal(SIGUSR1, SIG_IGN);  // one may be under way
    sigaction(SIGUSR1, &before_, nullptr);
  }
  signals_come(signals_come const&) = delete;
  signals_come& operator=(signals_come const&) = delete;

 private:
  timer_t timer_{};
  struct sigaction before_ {};
};

TEST_P(posix_polls, signals_do_not_end_them) {
  run([] {
    auto pipe = make_pipe();
    signals_come const often;
    std::vector<pollfd> fds(64, pollfd{pipe.first, POLLIN, 0});
    int failed = 0;
    for (int i = 0; i < 20'000; ++i) failed += ::poll(fds.data(), fds.size(), i % 200 == 0 ? 1 : 0) < 0 ? 1 : 0;
    EXPECT_EQ(failed, 0);
    for (int i = 0; i < 20'000; ++i) {
      fd_set in;
      FD_ZERO(&in);
      FD_SET(pipe.first, &in);
      timeval limit{0, i % 200 == 0 ? 1000 : 0};
      failed += ::select(pipe.first + 1, &in, nullptr, nullptr, &limit) < 0 ? 1 : 0;
    }
    EXPECT_EQ(failed, 0);
  });
}

// A program that calls select once more after an error asks for the same descriptors.
TEST_P(posix_polls, a_select_that_fails_leaves_the_sets_as_they_were) {
  run([] {
    auto pipe = make_pipe();
    wait_group all;
    all.go([&] {
      int const fd = pipe.first;
      fd_set in;
      FD_ZERO(&in);
      FD_SET(fd, &in);
      EXPECT_EQ(::select(fd + 1, &in, nullptr, nullptr, nullptr), -1);
      EXPECT_EQ(errno, EBADF);
      EXPECT_TRUE(FD_ISSET(fd, &in));
    });
    EXPECT_TRUE(wait_until([&] { return waiting_for(rt::wait_reason::io) == 1; }));
    pipe.close_first();
    all.wait();
  });
}

}  // namespace
}  // namespace thrum::test
