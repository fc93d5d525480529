// Descriptors and deadlock detection. A goroutine that waits for a descriptor is no deadlock, because an event may
// come. A goroutine that has waited earlier does not hide a deadlock.
#include "deadlock/deadlock.h"
#include "os/epoll.h"
#include "os/fault.h"
#include "support/cold_file.h"
#include "support/goroutines.h"
#include "support/sockets.h"
#include <thrum/thrum.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

namespace thrum::test {
namespace {

using namespace std::chrono_literals;

class net_deadlock : public deadlock_test {};

TEST_F(net_deadlock, S25_a_program_that_uses_no_descriptor_has_no_poll) {
  auto const child = [] {
    thrum::run([] {
      wait_group all;
      for (int i = 0; i < 10; ++i) all.go([] { sleep_for(1ms); });
      all.wait();
    });
    bool const was_open = rt::os::poll_is_open();
    thrum::run([] { static_cast<void>(socket_pair()); });
    std::_Exit(!was_open && rt::os::poll_is_open() ? 0 : 1);
  };
  EXPECT_EXIT(child(), testing::ExitedWithCode(0), "");
}

// The data comes from another process, so no goroutine of this one could wake the reader.
TEST_F(net_deadlock, S25_a_reader_alone_is_no_deadlock) {
  for (int const procs : {1, 2, 8}) {
    auto const child = [procs] {
      thrum::run(
          [] {
            std::FILE* const other = ::popen("sleep 0.1; echo x", "r");
            fd from(::dup(::fileno(other)));
            char byte = 0;
            if (from.read_some({&byte, 1}) != 1 || byte != 'x') std::_Exit(1);
            wait_group all;
            all.add(1);
            go([&] {  // and not main
              if (from.read_full({&byte, 1}) != 1 || byte != '\n') std::_Exit(1);
              all.done();
            });
            all.wait();
          },
          {.max_procs = procs});
      std::_Exit(0);
    };
    EXPECT_EXIT(child(), testing::ExitedWithCode(0), "");
  }
}

TEST_F(net_deadlock, S25_a_signal_that_is_subscribed_may_come) {
  auto const child = [] {
    thrum::run([] {
      auto const alarms = signals(SIGALRM);
      ::ualarm(100'000, 0);
      if (alarms.recv() != SIGALRM) std::_Exit(1);
    });
    std::_Exit(0);
  };
  EXPECT_EXIT(child(), testing::ExitedWithCode(0), "");
}

TEST_F(net_deadlock, S25_when_the_last_reader_has_gone_a_deadlock_is_seen) {
  for (int const procs : {1, 2, 8}) {
    auto const child = [procs] {
      thrum::run(
          [] {
            auto ab = socket_pair();
            go([&] {
              std::error_code error;
              char byte = 0;
              static_cast<void>(ab.a.read_some({&byte, 1}, error));
            });
            while (waiting_for(rt::wait_reason::io) != 1) sleep_for(1ms);
            sleep_for(10ms);  // an M sleeps in the poller
            ab.a.close();
            chan<int> never;
            static_cast<void>(never.recv());
          },
          {.max_procs = procs});
    };
    EXPECT_FATAL(child(), DEADLOCK);
  }
}

// The M that sleeps in the poller does so until a timer is due, too, and that timer is stopped.
TEST_F(net_deadlock, S25_a_deadline_without_a_waiter_hides_no_deadlock_for_long) {
  for (int const procs : {1, 2}) {
    auto const child = [procs] {
      thrum::run(
          [] {
            auto ab = socket_pair();
            ab.a.set_read_deadline(50ms);
            chan<int> never;
            static_cast<void>(never.recv());
          },
          {.max_procs = procs});
    };
    EXPECT_FATAL(child(), DEADLOCK);
  }
}

TEST_F(net_deadlock, NE_reads_that_waited_for_the_disk_hide_none) {
  for (int const procs : {1, 2, 8}) {
    auto const child = [procs] {
      thrum::run(
          [] {
            cold_file const data(4096);
            auto in = data.open_cold();
            char byte = 0;
            this_sched().cold_reads.few.store(0, rt::relaxed);
            rt::os::inject_fault(rt::os::call::memory_read, EAGAIN);
            if (in.read_at({&byte, 1}, 0) != 1 || byte != data.text()[0]) std::_Exit(1);
            std::filesystem::remove(data.path());
            wait_group never;
            never.add(1);
            never.wait();
          },
          {.max_procs = procs});
      std::_Exit(0);
    };
    EXPECT_FATAL(child(), DEADLOCK);
  }
}

}  // namespace
}  // namespace thrum::test
