// Dumps through the debug socket from programs in trouble, and beside fork and the end of a run.
#include "base/platform.h"
#include "debug_socket/socket_client.h"
#include "runs/in_child.h"
#include "support/descriptors.h"
#include "support/fatal.h"
#include "support/hogs.h"
#include "support/leak_checks.h"
#include "support/run_at.h"
#include "support/wait_until.h"
#include "support/with_debug.h"
#include <thrum/thrum.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using test::ask_once;
using test::socket_client;

bool contains(std::string const& text, std::string_view part) { return text.find(part) != std::string::npos; }

class debug_socket_in_trouble : public testing::Test {
 protected:
  [[nodiscard]] options with_socket(int procs) const { return {.max_procs = procs, .debug_socket = folder_.socket()}; }
  [[nodiscard]] std::string ask(std::string_view request) const { return ask_once(folder_.socket(), request); }

  test::socket_folder folder_;
};

// The name is in the dump.
[[gnu::noinline]] void spin_until(std::atomic<bool> const& stop) {
  while (!stop) rt::cpu_relax();
}

TEST_F(debug_socket_in_trouble, a_dump_shows_goroutines_that_spin_on_all_ps) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  std::atomic<bool> stop{false};
  std::string text, groups, stats;
  std::thread outside;
  test::run_with(with_socket(2), [&] {
    wait_group all;
    std::atomic<int> spinning{0};
    for (int i = 0; i < 3; ++i) {
      all.go([&] {
        ++spinning;
        spin_until(stop);
      });
    }
    outside = std::thread([&] {
      EXPECT_TRUE(test::wait_until([&] { return spinning >= 2; }));
      text = ask("dump");
      groups = ask("goroutines");
      stats = ask("stats");
      stop = true;
    });
    all.wait();
  });
  outside.join();
  EXPECT_TRUE(contains(text, "spin_until")) << text;
  EXPECT_FALSE(contains(text, "could not be stopped")) << text;
  EXPECT_TRUE(contains(groups, "\trunn")) << groups;
  EXPECT_TRUE(contains(stats, "\nidle_procs 0\n")) << stats;
}

TEST_F(debug_socket_in_trouble, a_loop_that_cannot_be_stopped_is_shown_as_it_is) {
  std::atomic<bool> stop{false};
  std::string text;
  std::thread outside;
  test::with_debug const off("asyncpreemptoff=1");
  test::run_with(with_socket(2), [&] {
    wait_group all;
    std::atomic<bool> spins{false};
    all.go([&] {
      this_goroutine::set_name("the hog");
      spins = true;
      spin_until(stop);
    });
    outside = std::thread([&] {
      EXPECT_TRUE(test::wait_until([&] { return spins.load(); }));
      text = ask("dump");
      stop = true;
    });
    all.wait();
  });
  outside.join();
  EXPECT_TRUE(contains(text, "thrum: some goroutines could not be stopped within a second")) << text;
  EXPECT_TRUE(contains(text, " [running]:\n")) << text;
  EXPECT_TRUE(contains(text, "goroutine 1 [waiting: wait group")) << text;
}

TEST_F(debug_socket_in_trouble, a_dump_shows_a_deadlock_whose_report_waits_for_an_unknown_thread) {
  std::string text;
  std::thread outside;
  test::run_with(with_socket(2), [&] {
    chan<int> const never;
    outside = std::thread([&, never] {  // it has not used thrum when the goroutines deadlock
      EXPECT_TRUE(test::wait_until([&] { return contains(ask("goroutines"), "\n1\twaiting\tchan receive\t"); }));
      text = ask("dump");
      never.send(1);
    });
    static_cast<void>(never.recv());
  });
  outside.join();
  EXPECT_TRUE(contains(text, "goroutine 1 [waiting: chan receive]:")) << text;
}

TEST_F(debug_socket_in_trouble, goroutines_that_wait_for_each_others_locks_are_named) {
  std::string text;
  test::run_with({.max_procs = 2, .deadlock_detection = false, .debug_socket = folder_.socket()}, [&] {
    static mutex first, second;  // the goroutines stay in them when the run ends
    static std::atomic<int> locked{0};
    auto const lock_both = [](mutex& one, mutex& other) {
      one.lock();
      ++locked;
      while (locked < 2) yield();
      other.lock();
    };
    go(lock_both, std::ref(first), std::ref(second));
    go(lock_both, std::ref(second), std::ref(first));
    ASSERT_TRUE(test::wait_until([&] { return read_stats().waiting == 2; }));
    text = blocking([&] { return ask("dump"); });
  });
  EXPECT_TRUE(contains(text, "deadlock: goroutine ")) << text;
  EXPECT_TRUE(contains(text, "[waiting: mutex")) << text;
}

TEST_F(debug_socket_in_trouble, dumps_and_deadlocks_do_not_disturb_each_other) {
  THRUM_SKIP_IF_DEADLOCKS_ARE_NOT_SEEN();
  // Dumps stop the world again and again, while the goroutines come to a deadlock.
  int const code = in_child([&] {
    ::freopen("/dev/null", "w", stderr);
    pid_t const target = ::getpid();
    if (fork_with_a_limit() == 0) {
      while (::kill(target, 0) == 0 && ask("dump") != "") {
      }
      ::_exit(0);
    }
    run(
        [] {
          chan<int> const c;
          for (int i = 0; i < 200; ++i) go([&] { static_cast<void>(c.recv()); });
          for (int i = 0; i < 100; ++i) c.send(i);
          static_cast<void>(chan<int>().recv());
        },
        with_socket(2));
    return 0;
  });
  EXPECT_EQ(code, 2);
}

TEST_F(debug_socket_in_trouble, a_run_ends_also_while_dumps_are_being_made) {
  std::atomic<bool> stop{false};
  std::atomic<int> dumps{0};
  std::thread outside([&] {
    while (!stop) dumps += ask("dump").starts_with("ok ") ? 1 : 0;
  });
  for (int i = 0; i < 20; ++i) {
    test::run_with(with_socket(2), [&] {
      int const before = dumps;
      for (int g = 0; g < 100; ++g) go([] { sleep_for(1h); });
      if (i % 4 == 0) {
        EXPECT_TRUE(test::wait_until([&] { return dumps > before; }));
      }
    });
  }
  stop = true;
  outside.join();
}

// Asks for dumps until it is destroyed. This is a process of its own, because a fork beside a thread that allocates may
// leave the child with an allocator that is locked for good.
class dumps_from_outside {
 public:
  explicit dumps_from_outside(std::string const& socket) : process_(::fork()) {
    EXPECT_GE(process_, 0);
    if (process_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // also if the test crashes
    ::alarm(300);                        // it may have crashed before
    for (;;) {
      if (ask_once(socket, "dump").empty()) std::this_thread::sleep_for(1ms);  // no program listens yet
    }
  }
  ~dumps_from_outside() {
    if (process_ < 0) return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  dumps_from_outside(dumps_from_outside const&) = delete;
  dumps_from_outside& operator=(dumps_from_outside const&) = delete;

 private:
  pid_t const process_;
};

// Dumps stop the world again and again. The function of atexit comes to places where a goroutine stops for that.
TEST_F(debug_socket_in_trouble, a_program_exits_also_while_dumps_are_being_made) {
  dumps_from_outside const dumps(folder_.socket());
  for (int i = 0; i < 20; ++i) {
    int const code = in_child([&] {
      test::do_not_look_for_leaks();
      run(
          [i] {
            for (int g = 0; g < 10'000; ++g) go([] { sleep_for(1h); });  // so that dumps take long
            std::atexit([] {
              for (int n = 0; n < 1000; ++n) yield();
            });
            go([i] {
              while (read_stats().stopped_for.count == 0) sleep_for(1ms);
              sleep_for(i * 3ms);
              std::exit(as_expected);
            });
            static_cast<void>(chan<int>().recv());
          },
          with_socket(2));
      return 1;
    });
    EXPECT_EQ(code, as_expected);
  }
}

TEST_F(debug_socket_in_trouble, a_child_of_fork_has_no_part_in_the_socket) {
  test::run_with(with_socket(2), [&] {
    socket_client client(folder_.socket());
    EXPECT_TRUE(blocking([&] { return client.ask("about"); }).starts_with("ok "));
    int const sockets_of_test = 1;  // the client
    auto const in_the_child = [&](bool exits) {
      pid_t const child = fork_with_a_limit();
      if (child == 0) {
        int const code = test::open_sockets() == sockets_of_test ? as_expected : 1;
        if (exits) std::exit(code);
        ::_exit(code);
      }
      return exit_code_of(child);
    };
    int const others = blocking([&] { return in_the_child(false); });
    EXPECT_EQ(others, as_expected);
    if (!rt::with_asan) {  // by exit, it would report what the threads refer to that it does not have
      EXPECT_EQ(blocking([&] { return in_the_child(true); }), as_expected);
    }
    EXPECT_TRUE(std::filesystem::exists(folder_.socket())) << "the child has not removed it";
    EXPECT_TRUE(blocking([&] { return client.ask("dump"); }).starts_with("ok "));
  });
}

// One descriptor has come with a request that is not complete, and one with a request that is being worked on.
TEST_F(debug_socket_in_trouble, a_child_of_fork_has_no_descriptor_that_a_client_has_passed) {
  test::run_with(with_socket(2), [&] {
    blocking([&] {
      socket_client const asking(folder_.socket());
      socket_client const working(folder_.socket());
      int const sockets_of_test = 2;  // the clients
      int ends[2];
      ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
      asking.send_with("abo", ends[0]);
      working.send_with("profile mutexes 3600\n", ends[1]);
      ::close(ends[0]);
      ::close(ends[1]);
      // The server looks at its oldest clients first.
      EXPECT_TRUE(ask("about").starts_with("ok "));
      // A child that is made while the server closes the connection of that request has one socket more.
      EXPECT_TRUE(test::spin_until([&] {
        return in_child([] { return test::open_sockets() == sockets_of_test ? as_expected : 1; }) == as_expected;
      }));
    });
  });
}

TEST_F(debug_socket_in_trouble, a_program_that_closes_all_descriptors_goes_on) {
  int const code = in_child([&] {
    run(
        [] {
          for (int fd = 3; fd < 1024; ++fd) ::close(fd);
          yield();
        },
        with_socket(1));
    return as_expected;
  });
  EXPECT_EQ(code, as_expected);
}

}  // namespace
}  // namespace thrum
