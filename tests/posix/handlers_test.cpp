// Signal handlers that run on the goroutine's stack, as handlers that are set by signal() do. The code that they
// interrupted may hold a lock of the C library. No other goroutine may run on that thread until the handler has
// returned, so calls inside it behave as the C library's own calls do.
#include "posix/both_ways.h"
#include "support/allocations.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <pty.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <time.h>

namespace thrum::test {
namespace {

std::function<void()> const* to_do = nullptr;

void do_it(int) {
  int const errno_before = errno;
  (*to_do)();
  errno = errno_before;
}

class posix_handlers : public at_every_width {
 protected:
  void SetUp() override {
    struct sigaction own {};
    own.sa_handler = do_it;  // without SA_ONSTACK
    own.sa_flags = SA_RESTART;
    ASSERT_EQ(::sigaction(SIGUSR1, &own, &before_), 0);
    own.sa_handler = [](int) {};  // it ends a sleep
    ASSERT_EQ(::sigaction(SIGUSR2, &own, &before_2_), 0);
  }
  void TearDown() override {
    ::sigaction(SIGUSR1, &before_, nullptr);
    ::sigaction(SIGUSR2, &before_2_, nullptr);
  }

 private:
  struct sigaction before_ {};
  struct sigaction before_2_ {};
};
THRUM_AT_EVERY_WIDTH(posix_handlers);

void in_handler(std::function<void()> const& f) {
  to_do = &f;
  ::pthread_kill(::pthread_self(), SIGUSR1);
}

// `waits` is a call that waits, made by `how`; `ends` ends it. The goroutine must not park in it.
void keeps_its_thread(void (*how)(std::function<void()> const&), std::function<void()> const& waits,
                      std::function<void()> const& ends) {
  rt::G const& g = this_g();
  std::atomic<int> tid{0};
  std::atomic<bool> is_inside{false};
  {
    partner const other([&] {
      rt::os::thread_watch watch;
      auto const is_parked = [&] { return g.status.load(rt::acquire) == rt::g_status::waiting; };
      EXPECT_TRUE(spin_until([&] {
        return is_inside && (is_parked() || watch.look(tid).activity == rt::os::thread_activity::sleeps_in_call);
      }));
      EXPECT_FALSE(is_parked());
      ends();
    });
    how([&] {
      tid = rt::os::current_tid();
      is_inside = true;
      waits();
      is_inside = false;
    });
  }
  EXPECT_FALSE(is_inside);
}

TEST_P(posix_handlers, T08_a_handler_that_waits_keeps_its_thread) {
  run([] {
    leave_m0();
    auto ends = make_pipe();
    auto const write_it = [&] { EXPECT_EQ(::write(ends.second, "x", 1), 1); };
    char byte = 0;
    keeps_its_thread(
        in_handler, [&] { EXPECT_EQ(::read(ends.first, &byte, 1), 1); }, write_it);
    keeps_its_thread(
        in_handler,
        [&] {
          pollfd one{ends.first, POLLIN, 0};
          EXPECT_EQ(::poll(&one, 1, -1), 1);
        },
        write_it);
    if (!rt::with_tsan) {  // which lets no other signal in while a handler runs that it has put off
      pthread_t const self = ::pthread_self();
      keeps_its_thread(
          in_handler,
          [] {
            timespec const length{1000, 0};
            EXPECT_EQ(::nanosleep(&length, nullptr), -1);
            EXPECT_EQ(errno, EINTR);
          },
          [&] { EXPECT_EQ(::pthread_kill(self, SIGUSR2), 0); });
    }
    fill(ends.second);
    keeps_its_thread(
        in_handler, [&] { EXPECT_EQ(::write(ends.second, "x", 1), 1); },
        [&] {
          std::vector<char> some(100'000);
          EXPECT_GT(::read(ends.first, some.data(), some.size()), 0);
        });
  });
}

TEST_P(posix_handlers, T08_a_handler_writes_to_a_terminal_itself) {
  run([] {
    leave_m0();
    int master = -1;
    int slave = -1;
    ASSERT_EQ(::openpty(&master, &slave, nullptr, nullptr, nullptr), 0);
    both_ends const both{master, slave};
    std::atomic<bool> is_written{false};
    std::string const all(1'000'000, 'x');  // more than it takes
    keeps_its_thread(
        in_handler,
        [&] {
          EXPECT_EQ(::write(slave, all.data(), all.size()), 1'000'000);
          is_written = true;
        },
        [&] {
          std::vector<char> some(10'000);
          pollfd one{master, POLLIN, 0};
          while (!is_written) {
            if (::poll(&one, 1, 1) > 0) {
              EXPECT_GT(::read(master, some.data(), some.size()), 0);
            }
          }
        });
  });
}

TEST_P(posix_handlers, T08_a_goroutine_that_has_changed_its_threads_mask_shares_the_thread_with_no_other) {
  run([] {
    leave_m0();
    auto ends = make_pipe();
    char byte = 0;
    keeps_its_thread(
        [](std::function<void()> const& f) {
          sigset_t more;
          sigset_t before;
          ::sigemptyset(&more);
          ::sigaddset(&more, SIGUSR2);
          EXPECT_EQ(::pthread_sigmask(SIG_BLOCK, &more, &before), 0);
          f();
          EXPECT_EQ(::pthread_sigmask(SIG_SETMASK, &before, nullptr), 0);
        },
        [&] { EXPECT_EQ(::read(ends.first, &byte, 1), 1); }, [&] { EXPECT_EQ(::write(ends.second, "x", 1), 1); });
  });
}

// The signals that the thread with this name blocks, as the kernel shows them: one bit per signal, and bit 0 is signal
// 1. nullopt if there is no thread with this name.
std::optional<std::uint64_t> signals_blocked_on(std::string const& name) {
  for (auto const& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream status(task.path() / "status");
    std::string its_name;
    for (std::string word; status >> word;) {
      if (word == "Name:") status >> its_name;
      if (word != "SigBlk:" || its_name != name) continue;
      status >> word;
      return std::stoull(word, nullptr, 16);
    }
  }
  return std::nullopt;
}

// sysmon may hold the lock that close takes.
TEST(posix_own_threads, T15_no_handler_runs_on_threads_that_serve_the_runtime) {
  run_at(2, [] {
    for (char const* const name : {"thrum-sysmon", "thrum-maker"}) {
      std::optional<std::uint64_t> blocked;
      EXPECT_TRUE(wait_until([&] { return (blocked = signals_blocked_on(name)).has_value(); })) << name;
      for (int const signal : {SIGUSR1, SIGALRM, SIGTERM, SIGCHLD}) {
        EXPECT_NE(blocked.value_or(0) & std::uint64_t{1} << static_cast<unsigned>(signal - 1), 0U) << name << signal;
      }
    }
  });
}

// malloc's lock may be held by what the handler has interrupted.
TEST_P(posix_handlers, T08_a_handler_allocates_nothing_to_wait_for_many) {
  if (!allocations_are_seen) GTEST_SKIP() << "a sanitizer has an allocator of its own";
  run([] {
    leave_m0();
    std::vector<both_ends> pipes;
    std::vector<pollfd> many;
    fd_set in;
    FD_ZERO(&in);
    int most = 0;
    for (int i = 0; i < 20; ++i) {
      int const fd = pipes.emplace_back(make_pipe()).first;
      many.push_back({fd, POLLIN, 0});
      FD_SET(fd, &in);
      most = std::max(most, fd);
    }
    timeval limit{0, 1000};
    std::uint64_t made = 1;
    std::function<void()> const waits = [&] {
      std::uint64_t const before = allocations_made_here();
      EXPECT_EQ(::poll(many.data(), many.size(), 1), 0);
      EXPECT_EQ(::select(most + 1, &in, nullptr, nullptr, &limit), 0);
      made = allocations_made_here() - before;
    };
    in_handler(waits);
    EXPECT_EQ(made, 0U);
  });
}

}  // namespace
}  // namespace thrum::test
