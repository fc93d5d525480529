// Descriptors that are closed, or become another file's, while goroutines wait for them.
#include "core/current.h"
#include "posix/both_ways.h"
#include "posix/polls.h"
#include "posix/watch.h"
#include "sched/poll.h"
#include "support/slices.h"

#include <atomic>
#include <cerrno>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace thrum::test {
namespace {

// A thread would go on with the file that it had. A goroutine gets an error.
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

// In each round the number belongs to another file.
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
    reader_of_a_closed_pipe reader(pipe);
    EXPECT_EQ(::syscall(SYS_close, pipe.first), 0);
    posix::say_closed(pipe.first, pipe.first, posix::no_ticket);
    reader.wait();
    pipe.first = -1;
  });
}

TEST_P(posix_polls, a_goroutine_that_begins_to_wait_while_its_number_is_replaced_waits_for_the_new_file) {
  run([] {
    auto pipe = make_pipe();
    auto other = make_pipe();
    reader_of_a_closed_pipe reader(pipe);
    wait_group all;
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
    reader.wait();
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

// With CLOSE_RANGE_UNSHARE (2) the thread closes copies of its own.
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

// The number becomes another file's after the goroutine was woken and before it runs. It must not read from that file.
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
