// poll, select and epoll_wait.
#include "posix/both_ways.h"

#include <array>
#include <csignal>
#include <vector>

#include <poll.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/select.h>

namespace thrum::test {
namespace {

class posix_polls : public at_every_width {};
THRUM_AT_EVERY_WIDTH(posix_polls);

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
    int const gone = ::dup(pipe.first);
    ::close(gone);
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
    int const gone = ::dup(pipe.first);
    ::close(gone);
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

// A thread would go on with the file it had; a goroutine is told.
TEST_P(posix_polls, what_is_closed_by_another_wakes_those_who_wait) {
  run([] {
    for (int how = 0; how < 4; ++how) {
      auto pipe = make_pipe();
      auto other = make_pipe();
      wait_group all;
      std::atomic<int> told_so{0};
      for (int i = 0; i < 5; ++i) {
        all.go([&] {
          char byte = 0;
          EXPECT_EQ(::read(pipe.first, &byte, 1), -1);
          EXPECT_EQ(errno, EBADF);
          ++told_so;
        });
        all.go([&] {
          pollfd fds[] = {{other.first, POLLIN, 0}, {pipe.first, POLLIN, 0}};
          EXPECT_EQ(::poll(fds, 2, -1), 1);
          EXPECT_EQ(fds[0].revents, 0);
          ++told_so;
        });
      }
      EXPECT_TRUE(wait_until([&] { return waiting_for(rt::wait_reason::io) == 10; }));
      if (how == 0) {
        pipe.close_first();
      } else if (how == 1) {
        std::thread([&] { pipe.close_first(); }).join();
      } else if (how == 2) {
        EXPECT_EQ(::dup2(other.first, pipe.first), pipe.first);
      } else {
        EXPECT_EQ(::close_range(static_cast<unsigned>(pipe.first), static_cast<unsigned>(pipe.first), 0), 0);
        pipe.first = -1;
      }
      // Those who poll see no such number, or, after dup2, one that is not ready: they were told all the same.
      all.wait();
      EXPECT_EQ(told_so, 10);
    }
  });
}

// Each time the number is another file's.
TEST_P(posix_polls, a_number_that_is_used_again_is_waited_for_anew) {
  run([] {
    for (int round = 0; round < 50; ++round) {
      auto pipe = make_pipe();
      int const kept = round % 2 == 0 ? ::dup(pipe.first) : -1;  // the old file lives on under another number
      wait_group all;
      all.go([&] {
        char byte = 0;
        EXPECT_EQ(::read(pipe.first, &byte, 1), 1);
      });
      EXPECT_TRUE(wait_until([&] { return waiting_for(rt::wait_reason::io) == 1; }));
      EXPECT_EQ(::write(pipe.second, "x", 1), 1);
      all.wait();
      if (kept >= 0) ::close(kept);
    }
  });
}

}  // namespace
}  // namespace thrum::test
