// A sandbox that knows tgkill but not rt_tgsigqueueinfo: goroutines are preempted all the same.
#include "os/pause_signal.h"
#include "os/thread.h"
#include "support/child_test.h"
#include "support/hogs.h"
#include "support/run_at.h"
#include "support/slices.h"
#include <thrum/thrum.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <iterator>

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;

// For the rest of this process.
bool refuse_signals_with_marks() {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_tgsigqueueinfo, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog const filter{std::size(program), program};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

class in_a_sandbox : public test::child_test {};

TEST_F(in_a_sandbox, T15_goroutines_are_preempted_where_signals_cannot_carry_our_mark) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  EXPECT_EXIT(
      {
        if (!refuse_signals_with_marks()) ::_exit(7);  // not here
        test::with_slices_of const slices(1ms);
        test::run_at(1, [] {
          EXPECT_TRUE(rt::os::send_pause_signal(rt::os::current_tid()));
          test::sleep_beside_a_loop();
        });
        std::_Exit(testing::Test::HasFailure() ? 1 : 7);
      },
      testing::ExitedWithCode(7), "");
}

std::atomic<int> programs_own{0};

TEST_F(in_a_sandbox, T15_a_handler_of_the_programs_own_has_its_signals_there) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  EXPECT_EXIT(
      {
        if (!refuse_signals_with_marks()) ::_exit(7);  // not here
        ::signal(SIGURG, [](int) { ++programs_own; });
        test::with_slices_of const slices(1ms);
        test::run_at(1, [] {
          test::sleep_beside_a_loop();
          int const before = programs_own;
          ::raise(SIGURG);
          EXPECT_EQ(programs_own, before + 1);
        });
        std::_Exit(testing::Test::HasFailure() ? 1 : 7);
      },
      testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace thrum
