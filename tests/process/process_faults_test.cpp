// Starting and waiting for programs while the system denies descriptors, memory, processes, or is too old.
#include "os/fault.h"
#include "support/descriptors.h"
#include "support/goroutines.h"
#include "support/programs.h"
#include "support/run_at.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <chrono>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using rt::os::call;
using rt::os::clear_faults;
using rt::os::fault_for_good;
using rt::os::inject_fault;
using test::open_descriptors;

class process_faults : public test::at_every_width {
 protected:
  void SetUp() override { clear_faults(); }
  void TearDown() override { clear_faults(); }
};
THRUM_AT_EVERY_WIDTH(process_faults);

process_options const three_pipes{.in = stdio::pipe, .out = stdio::pipe, .err = stdio::pipe};

TEST_P(process_faults, PR08_a_start_that_fails_leaves_nothing_behind) {
  run([] {
    EXPECT_TRUE(output({"true"}).status.ok());  // the poll is open
    int const open_before = open_descriptors();
    struct fault {
      call what;
      int error;
      unsigned skip;
    };
    std::vector<fault> const faults{
        {call::pipe, EMFILE, 0},      {call::pipe, EMFILE, 1},  {call::pipe, ENFILE, 2},  {call::epoll_ctl, ENOMEM, 0},
        {call::epoll_ctl, ENOSPC, 2}, {call::spawn, EAGAIN, 0}, {call::spawn, ENOMEM, 0}, {call::duplicate, EMFILE, 0}};
    for (fault const& each : faults) {
      inject_fault(each.what, each.error, each.skip);
      std::error_code error;
      auto chosen = three_pipes;
      if (each.what == call::duplicate) chosen.err = child_stream(2);
      EXPECT_FALSE(process::start({"true"}, chosen, error));
      EXPECT_EQ(error.value(), each.error == ENOSPC ? ENOBUFS : each.error);  // of the poll: no disk is full
      EXPECT_EQ(open_descriptors(), open_before);
      clear_faults();
    }
    std::error_code error;
    EXPECT_FALSE(process::start({"no-such-program-anywhere"}, three_pipes, error));
    EXPECT_EQ(open_descriptors(), open_before);
  });
}

TEST_P(process_faults, PR08_with_a_real_limit_of_descriptors_start_fails_and_waiting_goes_on) {
  if (rt::with_asan) GTEST_SKIP() << "UBSan, which is with it, needs a descriptor of its own to look at an object";
  run([] {
    auto child = process::start({"cat"}, {.in = stdio::pipe});
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    rlimit few = before;
    few.rlim_cur = 3;
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
    std::error_code error;
    EXPECT_FALSE(process::start({"true"}, three_pipes, error));
    EXPECT_EQ(error, std::errc::too_many_files_open);
    EXPECT_EQ(child.wait_for(1ms), std::nullopt);
    child.in().close();
    EXPECT_TRUE(child.wait().ok());
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  });
}

// There is no pidfd, or none that can be polled, or no copy of it for the second goroutine that waits.
TEST_P(process_faults, PR08_without_a_descriptor_a_child_is_waited_for_all_the_same) {
  for (call const missing : {call::pidfd, call::duplicate, call::epoll_ctl}) {
    run([missing] {
      auto child = process::start({"sleep", "60"}, {.in = stdio::null});
      child.kill();
      child.wait();
      inject_fault(missing, ENOSYS, 0, fault_for_good);
      child = process::start({"sleep", "60"}, {.in = stdio::null});
      EXPECT_EQ(child.try_wait(), std::nullopt);
      EXPECT_EQ(child.wait_for(1ms), std::nullopt);
      std::error_code error;
      child.wait(with_timeout(context::background(), 1ms).ctx, error);
      EXPECT_EQ(error, std::errc::timed_out);
      auto waiter = spawn([&] { return child.wait(); });
      auto limited = spawn([&] { return child.wait_for(60s); });
      EXPECT_FALSE(waiter.join_for(5ms));
      child.kill();
      EXPECT_EQ(waiter.join().signal(), SIGKILL);
      EXPECT_EQ(limited.join()->signal(), SIGKILL);
      EXPECT_EQ(child.terminate(1s).signal(), SIGKILL);
      clear_faults();
    });
  }
}

TEST_P(process_faults, PR08_interrupted_calls_are_repeated) {
  run([] {
    inject_fault(call::wait_id, EINTR, 0, 5);
    inject_fault(call::pidfd, EINTR, 0, 2);
    inject_fault(call::pipe, EINTR, 0, 2);
    EXPECT_EQ(output({"echo", "x"}).out, "x\n");
  });
}

// SIGCHLD is ignored, so the kernel reaps the child, and its exit status is lost.
TEST_P(process_faults, PR08_an_end_that_was_collected_by_others_is_an_error) {
  auto* const before = ::signal(SIGCHLD, SIG_IGN);
  run([] {
    auto child = process::start({"cat"}, {.in = stdio::pipe});
    EXPECT_EQ(child.try_wait(), std::nullopt);
    child.in().close();
    std::error_code error;
    child.wait(error);
    EXPECT_EQ(error, std::errc::no_child_process);
    child.kill();
  });
  ::signal(SIGCHLD, before);
}

// Others have collected it: its number may be a stranger's, here it is the child's still.
TEST_P(process_faults, PR08_a_child_that_was_collected_by_others_gets_no_signal) {
  struct fault {
    call what;
    int error;
    bool is_known_at_start;
  };
  for (fault const& each :
       {fault{call::pidfd, ESRCH, true}, {call::wait_id, ECHILD, true}, {call::pidfd, ENOSYS, false}}) {
    run([&each] {
      inject_fault(each.what, each.error, 0);
      auto child = process::start({"cat"}, {.in = stdio::pipe});
      clear_faults();
      if (!each.is_known_at_start) inject_fault(call::wait_id, ECHILD, 0);
      child.kill();
      clear_faults();
      std::error_code error;
      child.wait(error);
      EXPECT_EQ(error, std::errc::no_child_process);
      child.in().close();
      int status = -1;
      EXPECT_EQ(blocking([&] { return ::waitpid(child.id(), &status, 0); }), child.id());
      EXPECT_TRUE(WIFEXITED(status));  // by itself
    });
  }
}

TEST_P(process_faults, PR08_output_does_not_wait_for_a_child_that_it_may_not_kill) {
  run([] {
    int ends[2]{};
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    for (auto const out : {stdio::pipe, stdio::null}) {
      auto const [soon, cancel] = with_timeout(context::background(), 5ms);
      inject_fault(call::kill, EPERM, 0, fault_for_good);
      std::error_code error;
      static_cast<void>(output(soon, {"cat"}, {.in = child_stream(ends[0]), .out = out}, error));
      EXPECT_EQ(error, std::errc::timed_out);
      clear_faults();
    }
    ::close(ends[0]);
    ::close(ends[1]);  // they end by themselves
    EXPECT_TRUE(test::wait_until([] { return num_goroutines() == 1; }));
  });
}

// A child is not reaped while a goroutine waits for it by its process id. It is reaped after the last wait.
TEST_P(process_faults, PR08_a_goroutine_that_waits_by_the_number_leaves_no_zombie) {
  run([] {
    inject_fault(call::pidfd, ENOSYS, 0);
    auto child = process::start({"cat"}, {.in = stdio::pipe});
    auto waiter = spawn([&] { return child.wait(); });
    auto other = spawn([&] { return child.wait(); });
    EXPECT_FALSE(waiter.join_for(1ms));
    child.in().close();
    EXPECT_TRUE(test::wait_until([&] { return child.try_wait().has_value(); }));
    EXPECT_TRUE(waiter.join().ok());
    EXPECT_TRUE(other.join().ok());
    EXPECT_EQ(test::state_of(child.id()), test::child_state::none_of_ours);
  });
}

}  // namespace
}  // namespace thrum
