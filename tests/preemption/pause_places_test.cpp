// T03: where a goroutine is stopped, shown without waiting for a signal to meet it there.
#include "core/current.h"
#include "core/sched.h"
#include "os/interrupted_code.h"
#include "os/pause_signal.h"
#include "os/signal.h"
#include "support/child_test.h"
#include "support/hogs.h"
#include "support/run_at.h"
#include "support/slices.h"
#include "support/wait_until.h"
#include "sys/preempt.h"
#include <thrum/thrum.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/auxv.h>
#include <ucontext.h>

#define THRUM_SKIP_WITHOUT_VDSO() \
  if (vdso() == 0) GTEST_SKIP() << "the kernel has no page of its own here"

namespace thrum {
namespace {

using test::run_at;

std::uintptr_t vdso() { return ::getauxval(AT_SYSINFO_EHDR); }

std::uintptr_t some_place_in_the_program() { return reinterpret_cast<std::uintptr_t>(&some_place_in_the_program); }

// As the signal's handler does when it finds its thread there.
void is_signalled_at(std::uintptr_t program_counter) {
  ucontext_t interrupted{};
#if defined(__x86_64__)
  interrupted.uc_mcontext.gregs[REG_RIP] = static_cast<greg_t>(program_counter);
#else
  interrupted.uc_mcontext.pc = program_counter;
#endif
  ASSERT_EQ(rt::os::program_counter_of(&interrupted), program_counter);
  rt::answer_pause_signal(&interrupted);
}

void is_asked_at(std::uintptr_t program_counter, rt::pause_in reach) {
  rt::M& m = *rt::current_m();
  m.pause.set_reach(reach);
  m.pause.ask_for(m.p->schedtick.load(rt::relaxed));
  is_signalled_at(program_counter);
}

// Whether another goroutine gets its turn. Without a thread for it the request is in vain, and one is ordered.
void expect_pause(bool expected, std::uintptr_t program_counter, rt::pause_in reach) {
  std::atomic<bool> other_ran{false};
  join_handle other = spawn([&] { other_ran = true; });
  if (expected) {
    while (!other_ran) is_asked_at(program_counter, reach);
  } else {
    for (int i = 0; i < 1'000; ++i) is_asked_at(program_counter, reach);
    EXPECT_FALSE(other_ran);
  }
  other.join();
}

TEST(places_to_pause, T03_a_goroutine_makes_room_in_the_vdso_only_when_that_is_insisted_on) {
  test::in_run_order const undisturbed;
  THRUM_SKIP_WITHOUT_VDSO();
  run_at(1, [] {
    expect_pause(true, some_place_in_the_program(), rt::pause_in::program);
    expect_pause(false, vdso(), rt::pause_in::program);
    expect_pause(true, vdso(), rt::pause_in::vdso);
    expect_pause(true, vdso(), rt::pause_in::libc);
  });
}

TEST(places_to_pause, T03_a_goroutine_makes_room_in_the_c_library_only_when_that_is_insisted_on) {
  test::in_run_order const undisturbed;
  auto const in_libc = reinterpret_cast<std::uintptr_t>(::dlsym(RTLD_NEXT, "memset"));
  run_at(1, [=] {
    expect_pause(false, in_libc, rt::pause_in::program);
    expect_pause(false, in_libc, rt::pause_in::vdso);
    expect_pause(true, in_libc, rt::pause_in::libc);
  });
}

class places_to_stop : public test::child_test {};

// An allocator that reads the time would keep its lock for good.
TEST_F(places_to_stop, T03_at_the_end_of_the_run_no_thread_is_stopped_in_the_vdso) {
  THRUM_SKIP_IF_LOOPS_ARE_NOT_STOPPED_FOR_GOOD();
  THRUM_SKIP_WITHOUT_VDSO();
  EXPECT_EXIT(
      {
        static std::atomic<int> passed{0};
        run_at(2, [] {
          std::atomic<bool> has_begun{false};
          go([&] {
            sigset_t all;  // what stops it is the test
            ::sigfillset(&all);
            ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
            has_begun = true;
            while (!rt::current_m()->sched.end.is_seen()) rt::cpu_relax();
            is_asked_at(vdso(), rt::pause_in::libc);
            ++passed;
            is_signalled_at(some_place_in_the_program());
            ++passed;
          });
          EXPECT_TRUE(test::wait_until([&] { return has_begun.load(); }));
        });
        bool const stopped = test::wait_until([] { return rt::Sched::threads_asleep_for_good.load(rt::relaxed) > 0; });
        std::exit(stopped && passed == 1 ? 7 : 1);
      },
      testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace thrum
