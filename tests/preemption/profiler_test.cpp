// TR-08: a profiler's signal finds a goroutine on its own stack, or finds the mark set.
#include "base/atomic.h"
#include "base/platform.h"
#include "core/current.h"
#include "core/sched.h"
#include "os/interrupted_code.h"
#include "os/thread.h"
#include "support/run_at.h"
#include "support/scale.h"
#include <thrum/thrum.h>

#include <atomic>
#include <cstdint>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/time.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using test::scaled;

std::atomic<int> half_switched{0};
std::atomic<int> samples{0};

void look_at_stack(int, siginfo_t*, void* context) {
  rt::M const* const m = rt::current_m();
  if (m == nullptr || m->in_runtime.load(rt::relaxed) || m->current == nullptr) return;
  auto const* const sp = reinterpret_cast<char const*>(rt::os::stack_pointer_of(context));
  // The thread is in a signal handler of the runtime that has not set the mark, or has cleared it.
  if (sp >= m->signal_stack.low && sp < m->signal_stack.low + rt::os::alt_stack_bytes()) return;
  rt::stack const* const on = m->current->on;
  if (on == nullptr || sp < on->low || sp > on->top) ++half_switched;
  ++samples;
}

class profiled : public test::at_every_width {};
THRUM_AT_WIDTHS(profiled, 1, 2, 8);

TEST_P(profiled, TR_08_a_profiler_never_sees_a_half_switched_goroutine) {
  struct sigaction mine {};
  struct sigaction before {};
  mine.sa_sigaction = look_at_stack;
  mine.sa_flags = SA_ONSTACK | SA_SIGINFO | SA_RESTART;
  ASSERT_EQ(::sigaction(SIGPROF, &mine, &before), 0);
  itimerval const every_ms{{0, 1000}, {0, 1000}};
  itimerval const never{};
  ASSERT_EQ(::setitimer(ITIMER_PROF, &every_ms, nullptr), 0);
  half_switched = samples = 0;
  int tries = 0;
  do {
    run([] {
      wait_group all;
      for (int i = 0; i < 10; ++i) {
        all.go([] {
          for (std::int64_t k = 0; k < scaled(1'000'000, 10'000); ++k) {
            thrum::yield();
            for (int n = 0; n < 30; ++n) asm volatile("");  // some time outside, to be seen there
          }
        });
      }
      all.wait();
    });
  } while (samples == 0 && ++tries < 20);  // the kernel's clock may be a slow one
  ::setitimer(ITIMER_PROF, &never, nullptr);
  ::sigaction(SIGPROF, &before, nullptr);
  EXPECT_EQ(half_switched, 0);
  if (!rt::with_tsan) {  // which calls handlers late, from inside the runtime
    EXPECT_GT(samples, 0);
  }
}

}  // namespace
}  // namespace thrum
