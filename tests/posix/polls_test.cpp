// poll, select and epoll_wait.
#include "posix/both_ways.h"
#include "posix/watch.h"
#include "sched/poll.h"
#include "support/slices.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <ctime>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>

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

// A file, which epoll refuses, is never told of: the others and the time decide.
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

// A signal that comes every now and then, to whatever thread.
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
    std::signal(SIGUSR1, SIG_IGN);  // one may still be under way
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

// A thread would go on with the file it had; a goroutine is told.
TEST_P(posix_polls, what_is_closed_by_another_wakes_the_waiters) {
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
      // The goroutines that poll find that the descriptor is closed or, after dup2, that it is not ready. They were
      // told all the same.
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

// close and dup2 as another thread may see them halfway: the number refers to another file or to none, and the waiting
// goroutines have not been told.
TEST_P(posix_polls, a_goroutine_that_begins_to_wait_while_its_number_is_closed_tries_again) {
  run([] {
    auto pipe = make_pipe();
    ::close(std::exchange(pipe.first, high_up(pipe.first)));
    wait_group all;
    all.go([&] {
      char byte = 0;
      EXPECT_EQ(::read(pipe.first, &byte, 1), -1);
      EXPECT_EQ(errno, EBADF);
    });
    EXPECT_TRUE(wait_until([&] { return waiting_for(rt::wait_reason::io) == 1; }));
    EXPECT_EQ(::syscall(SYS_close, pipe.first), 0);
    posix::say_closed(pipe.first, pipe.first, posix::no_ticket);
    all.wait();
    pipe.first = -1;
  });
}

TEST_P(posix_polls, a_goroutine_that_begins_to_wait_while_its_number_is_replaced_waits_for_the_new_file) {
  run([] {
    auto pipe = make_pipe();
    auto other = make_pipe();
    wait_group all;
    all.go([&] {
      char byte = 0;
      EXPECT_EQ(::read(pipe.first, &byte, 1), -1);
      EXPECT_EQ(errno, EBADF);
    });
    EXPECT_TRUE(wait_until([&] { return waiting_for(rt::wait_reason::io) == 1; }));
    posix::ticket const before = posix::newest_at(pipe.first);
    std::atomic<bool> has_read{false};
    all.go([&] {
      char byte = 0;
      EXPECT_EQ(::read(pipe.first, &byte, 1), 1);
      has_read = true;
    });
    EXPECT_TRUE(wait_until([&] { return waiting_for(rt::wait_reason::io) == 2; }));
    EXPECT_EQ(::syscall(SYS_dup3, other.first, pipe.first, 0), pipe.first);
    posix::say_closed(pipe.first, pipe.first, before);
    EXPECT_TRUE(wait_until([&] { return waiting_for(rt::wait_reason::io) == 1; }));
    EXPECT_FALSE(has_read);
    EXPECT_EQ(::write(other.second, "x", 1), 1);
    all.wait();
  });
}

// The file was closed by stdio, for example. A goroutine that waits for the new file must not share a wait with the
// goroutines that waited for the old file.
TEST_P(posix_polls, a_waiter_for_a_file_that_went_unseen_is_told_when_its_number_is_waited_for_again) {
  run([] {
    auto pipe = make_pipe();
    auto other = make_pipe();
    ::close(std::exchange(pipe.first, high_up(pipe.first)));
    std::atomic<int> told_so{0};
    wait_group all;
    all.go([&] {
      char byte = 0;
      EXPECT_EQ(::read(pipe.first, &byte, 1), -1) << "of another file: " << byte;
      EXPECT_EQ(errno, EBADF);
      ++told_so;
    });
    all.go([&] {
      pollfd fds[] = {{other.second, 0, 0}, {pipe.first, POLLIN, 0}};
      EXPECT_EQ(::poll(fds, 2, -1), 1);
      EXPECT_EQ(fds[1].revents, POLLNVAL);
      ++told_so;
    });
    EXPECT_TRUE(wait_until([&] { return waiting_for(rt::wait_reason::io) == 2; }));
    EXPECT_EQ(::syscall(SYS_dup3, other.first, pipe.first, 0), pipe.first);
    for (int i = 0; i < 2; ++i) {
      all.go([&] {
        char byte = 0;
        EXPECT_EQ(::read(pipe.first, &byte, 1), 1);
        EXPECT_EQ(byte, 'B');
      });
    }
    EXPECT_TRUE(wait_until([&] { return told_so == 2 && waiting_for(rt::wait_reason::io) == 2; }));
    EXPECT_EQ(::write(other.second, "BB", 2), 2);
    all.wait();
  });
}

TEST_P(posix_polls, the_last_try_is_not_for_another_file) {
  run([] {
    int fds[2]{};
    int new_fds[2]{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, new_fds), 0);
    both_ends const old(fds[0], fds[1]);
    both_ends const other(new_fds[0], new_fds[1]);
    timeval const limit{0, 500'000};
    ASSERT_EQ(::setsockopt(old.first, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit), 0);
    EXPECT_EQ(::send(other.second, "B", 1, 0), 1);
    wait_group all;
    all.go([&] {
      char byte = 0;
      EXPECT_EQ(::recv(old.first, &byte, 1, 0), -1) << "of another file: " << byte;
    });
    EXPECT_TRUE(wait_until([&] { return waiting_for(rt::wait_reason::io) == 1; }));
    EXPECT_EQ(::syscall(SYS_dup3, other.first, old.first, 0), old.first);
    all.wait();
  });
}

// CLOSE_RANGE_UNSHARE: the thread closes copies of its own.
TEST_P(posix_polls, a_goroutine_that_closes_its_own_copies_closes_nothing_for_others) {
  run([] {
    leave_m0();
    auto pipe = make_pipe();
    wait_group all;
    all.go([&] {
      char byte = 0;
      EXPECT_EQ(::read(pipe.first, &byte, 1), 1);
    });
    EXPECT_TRUE(wait_until([&] { return waiting_for(rt::wait_reason::io) == 1; }));
    std::thread([&] {
      auto const number = static_cast<unsigned>(pipe.first);
      if (::close_range(number, number, 2) != 0) {
        EXPECT_TRUE(errno == ENOSYS || errno == EPERM);
      }
    }).join();
    EXPECT_EQ(::write(pipe.second, "x", 1), 1);
    all.wait();
  });
}

// Woken, and not on its thread yet when the number becomes another file's: what is read there is not the caller's.
TEST(posix_closing, one_that_was_woken_for_nothing_is_still_told_of_a_close) {
  without_slices const uninterrupted;
  run_at(1, [] {
    leave_m0();
    auto pipe = make_pipe();
    ::close(std::exchange(pipe.first, high_up(pipe.first)));
    wait_group all;
    all.go([&] {
      char byte = 0;
      EXPECT_EQ(::read(pipe.first, &byte, 1), -1) << "of another file: " << byte;
      EXPECT_EQ(errno, EBADF);
    });
    all.go([&] {
      pollfd one{pipe.first, POLLIN, 0};
      EXPECT_EQ(::poll(&one, 1, -1), 1);
      EXPECT_EQ(one.revents, POLLNVAL);
    });
    EXPECT_TRUE(wait_until([&] { return waiting_for(rt::wait_reason::io) == 2; }));
    auto other = make_pipe();
    EXPECT_EQ(::write(other.second, "B", 1), 1);
    EXPECT_EQ(::write(pipe.second, "A", 1), 1);
    {
      test::inside_runtime const inside;
      rt::g_list runnable;
      rt::look_at_poll(this_sched(), runnable);
      rt::run_polled(*rt::current_m(), runnable);
    }
    char byte = 0;
    EXPECT_EQ(::syscall(SYS_read, pipe.first, &byte, 1), 1);
    ::close(pipe.first);
    EXPECT_EQ(::syscall(SYS_dup3, other.first, pipe.first, 0), pipe.first);
    all.wait();
  });
}

}  // namespace
}  // namespace thrum::test
