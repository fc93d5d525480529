// Where calls park the goroutine, and where they block the thread as in the C library.
#include "posix/both_ways.h"
#include "support/scale.h"
#include "support/threads_at_work.h"
#include "support/with_debug.h"

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <vector>

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>

namespace thrum::test {
namespace {

class posix_places : public at_every_width {};
THRUM_AT_EVERY_WIDTH(posix_places);

// Made before main, when no constructor of the library need have run.
[[maybe_unused]] bool const works_before_main = [] {
  int fds[2]{};
  char byte = 0;
  if (::pipe(fds) != 0 || ::write(fds[1], "x", 1) != 1 || ::read(fds[0], &byte, 1) != 1) std::abort();
  ::close(fds[0]);
  ::close(fds[1]);
  return true;
}();

// While goroutines wait in calls other goroutines run, also with one P, and the number of threads does not grow with
// the number of goroutines that wait.
TEST_P(posix_places, T08_thousands_wait_in_calls_on_few_threads) {
  run([] {
    std::int64_t const count = scaled(1000, 100);
    std::vector<both_ends> pipes;
    std::vector<both_ends> sockets;
    for (std::int64_t i = 0; i < count; ++i) {
      pipes.push_back(make_pipe());
      int fds[2]{};
      ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
      sockets.emplace_back(fds[0], fds[1]);
    }
    wait_group all;
    std::atomic<std::int64_t> done{0};
    for (std::size_t i = 0; i < pipes.size(); ++i) {
      all.go([&, i] {
        int const tid = rt::os::current_tid();
        char byte = 0;
        EXPECT_EQ(::read(pipes[i].first, &byte, 1), 1);
        EXPECT_EQ(rt::os::current_tid(), tid);
        pollfd fds[] = {{sockets[i].first, POLLIN, 0}, {pipes[i].first, POLLIN, 0}};
        EXPECT_EQ(::poll(fds, 2, -1), 1);
        EXPECT_EQ(::recv(sockets[i].first, &byte, 1, 0), 1);
        EXPECT_EQ(rt::os::current_tid(), tid);
        ++done;
      });
    }
    EXPECT_TRUE(wait_until([&] { return waiting_for(rt::wait_reason::io) == count; }));
    EXPECT_TRUE(few_threads_work(procs() + 4)) << threads_at_work();
    for (both_ends const& each : pipes) EXPECT_EQ(::write(each.second, "x", 1), 1);
    for (both_ends const& each : sockets) EXPECT_EQ(::write(each.second, "x", 1), 1);
    all.wait();
    EXPECT_EQ(done, count);
  });
}

TEST_P(posix_places, what_need_not_wait_never_switches) {
  run([] {
    auto pipe = make_pipe();
    char byte = 0;
    auto const before = this_p().counters.parks();
    for (int i = 0; i < 10; ++i) {
      EXPECT_EQ(::write(pipe.second, "x", 1), 1);
      EXPECT_EQ(::read(pipe.first, &byte, 1), 1);
      pollfd one{pipe.first, POLLIN, 0};
      EXPECT_EQ(::poll(&one, 1, 0), 0);
      one.events = 0;
    }
    EXPECT_EQ(this_p().counters.parks(), before);
  });
}

// Reads from a pipe. Another thread writes to it when the calling thread sleeps in the kernel.
void read_asleep_in_the_kernel() {
  auto pipe = make_pipe();
  int const tid = rt::os::current_tid();
  partner const writes([&] {
    rt::os::thread_watch watch;
    EXPECT_TRUE(spin_until([&] { return watch.look(tid).activity == rt::os::thread_activity::sleeps_in_call; }));
    EXPECT_EQ(::write(pipe.second, "x", 1), 1);
  });
  char byte = 0;
  EXPECT_EQ(::read(pipe.first, &byte, 1), 1);
}

TEST_P(posix_places, inside_blocking_the_thread_waits) {
  run([] {
    leave_m0();
    blocking(read_asleep_in_the_kernel);
  });
}

// The thread does not wait for a P either, because it has no seat in the run and needs none.
TEST_P(posix_places, close_on_another_thread_does_not_enter_the_runtime) {
  run([] {
    leave_m0();
    auto pipe = make_pipe();
    reader_of_a_closed_pipe reader(pipe);
    int const neighbour =
        ::fcntl(pipe.second, F_DUPFD, pipe.first + 1024);  // in the same bucket, if there may be so many
    std::atomic<int> told_so{0};
    std::thread closes([&] {
      if (neighbour >= 0) ::close(neighbour);
      EXPECT_EQ(rt::current_m(), nullptr);
      ++told_so;
      pipe.close_first();
      EXPECT_EQ(rt::current_m(), nullptr);
      ++told_so;
    });
    EXPECT_TRUE(spin_until([&] { return told_so == 2; }));
    reader.wait();
    blocking([&] { closes.join(); });
  });
}

TEST_P(posix_places, close_inside_blocking_stays_there) {
  run([] {
    leave_m0();
    auto pipe = make_pipe();
    reader_of_a_closed_pipe reader(pipe);
    rt::M const* const m = blocking([&] {
      rt::M const* const here = rt::current_m();
      pipe.close_first();
      EXPECT_EQ(rt::current_m(), here);
      EXPECT_EQ(here->p, nullptr);
      return here;
    });
    EXPECT_NE(m, nullptr);
    reader.wait();
  });
}

TEST_P(posix_places, one_that_is_locked_to_its_thread_waits_as_well) {
  run([] {
    leave_m0();
    auto pipe = make_pipe();
    lock_os_thread();
    go([&] { EXPECT_EQ(::write(pipe.second, "x", 1), 1); });
    char byte = 0;
    EXPECT_EQ(::read(pipe.first, &byte, 1), 1);
    unlock_os_thread();
  });
}

TEST_P(posix_places, a_child_of_fork_has_the_calls_as_they_were) {
  run([] {
    leave_m0();
    auto pipe = make_pipe();
    auto back = make_pipe();
    auto idle = make_pipe();
    wait_group waits;  // a goroutine waits in the table when the child is made
    waits.go([&] {
      char byte = 0;
      EXPECT_EQ(::read(idle.first, &byte, 1), 0);
    });
    EXPECT_TRUE(wait_until([&] { return waiting_for(rt::wait_reason::io) == 1; }));
    pid_t const child = ::fork();
    if (child == 0) {
      idle.close_first();
      char byte = 0;
      timespec const length{0, 1'000'000};
      bool good = ::read(pipe.first, &byte, 1) == 1 && ::nanosleep(&length, nullptr) == 0;
      pollfd one{pipe.first, POLLIN, 0};
      good = good && ::poll(&one, 1, 1) == 0;
      good = good && ::write(back.second, &byte, 1) == 1;
      ::_exit(good ? 0 : 1);
    }
    ASSERT_GT(child, 0);
    EXPECT_EQ(::write(pipe.second, "x", 1), 1);
    char byte = 0;
    EXPECT_EQ(::read(back.first, &byte, 1), 1);
    int status = -1;
    EXPECT_EQ(blocking([&] { return ::waitpid(child, &status, 0); }), child);
    EXPECT_EQ(status, 0);
    idle.close_second();
    waits.wait();
  });
}

// A child that was made between two runs has a runtime of its own.
TEST(posix_children, a_child_may_run_goroutines_of_its_own) {
  if (rt::with_tsan) GTEST_SKIP() << "TSan lets no child make threads";
  auto const use_it = [] {
    bool good = true;
    run_at(2, [&] {
      auto pipe = make_pipe();
      char byte = 0;
      go([&] { EXPECT_EQ(::write(pipe.second, "x", 1), 1); });
      good = ::read(pipe.first, &byte, 1) == 1;
      pollfd one{pipe.first, POLLIN, 0};
      good = good && ::poll(&one, 1, 2) == 0;
    });
    return good;
  };
  EXPECT_TRUE(use_it());
  pid_t const child = ::fork();
  if (child == 0) ::_exit(use_it() ? 0 : 1);
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(use_it());
}

TEST(posix_switch, posixoff_leaves_the_calls_as_they_were) {
  with_debug const meanwhile("posixoff=1");
  run_at(2, [] {
    leave_m0();
    read_asleep_in_the_kernel();
  });
}

// Libraries that are loaded find each of these functions, because the program exports it.
TEST(posix_symbols, what_is_loaded_finds_them) {
  for (char const* name : {"read",
                           "__read",
                           "__read_chk",
                           "write",
                           "__write",
                           "readv",
                           "writev",
                           "recv",
                           "__recv_chk",
                           "recvfrom",
                           "__recvfrom_chk",
                           "recvmsg",
                           "recvmmsg",
                           "send",
                           "sendto",
                           "sendmsg",
                           "sendmmsg",
                           "accept",
                           "accept4",
                           "connect",
                           "__connect",
                           "poll",
                           "__poll",
                           "__poll_chk",
                           "ppoll",
                           "__ppoll_chk",
                           "select",
                           "__select",
                           "pselect",
                           "epoll_wait",
                           "epoll_pwait",
                           "epoll_pwait2",
                           "sleep",
                           "usleep",
                           "nanosleep",
                           "__nanosleep",
                           "clock_nanosleep",
                           "thrd_sleep",
                           "getaddrinfo",
                           "getnameinfo",
                           "gethostbyname",
                           "gethostbyname2",
                           "gethostbyaddr",
                           "gethostbyname_r",
                           "gethostbyname2_r",
                           "gethostbyaddr_r",
                           "close",
                           "__close",
                           "dup2",
                           "__dup2",
                           "dup3",
                           "close_range",
                           "closefrom"}) {
    void* const seen = ::dlsym(RTLD_DEFAULT, name);
    void* const libc = ::dlsym(RTLD_NEXT, name);
    EXPECT_NE(seen, nullptr) << name;
    EXPECT_NE(seen, libc) << name << " is the C library's own";
  }
}

// The next run does not touch the goroutines that wait when a run ends.
TEST(posix_runs, a_goroutine_that_was_left_behind_is_passed_over) {
  auto pipe = make_pipe();
  for (int round = 0; round < 3; ++round) {
    run_at(2, [&] {
      for (int i = 0; i < 3; ++i) {
        go([&] {
          char byte = 0;
          static_cast<void>(::read(pipe.first, &byte, 1));
          ADD_FAILURE() << "it was left behind";
        });
      }
      EXPECT_TRUE(wait_until([&] { return waiting_for(rt::wait_reason::io) == 3; }));
    });
  }
  run_at(2, [&] {
    EXPECT_EQ(::write(pipe.second, "x", 1), 1);
    char byte = 0;
    EXPECT_EQ(::read(pipe.first, &byte, 1), 1);
    wait_group all;
    all.go([&] { EXPECT_EQ(::read(pipe.first, &byte, 1), 1); });
    EXPECT_TRUE(wait_until([&] { return waiting_for(rt::wait_reason::io) >= 1; }));
    EXPECT_EQ(::write(pipe.second, "x", 1), 1);
    all.wait();
  });
}

// A wait for a descriptor is not a deadlock, because it can end. Without such a wait a deadlock is found.
TEST(posix_runs, a_wait_for_a_descriptor_is_no_deadlock) {
  run_at(1, [] {
    auto pipe = make_pipe();
    caller c;
    partner const writes([&] {
      c.until_it_waits();
      EXPECT_EQ(::write(pipe.second, "x", 1), 1);
    });
    char byte = 0;
    c.next();
    EXPECT_EQ(::read(pipe.first, &byte, 1), 1);
  });
}

}  // namespace
}  // namespace thrum::test
