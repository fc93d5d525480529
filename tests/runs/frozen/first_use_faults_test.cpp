// The end of a run may stop a goroutine for good at any instruction of its own code, also in a call of thrum that
// initialises something for the whole process at its first use. A later run must be able to use the same call.
//
// The goroutine is caught in operator new or in dlopen, which this program replaces.
#include "net/query.h"
#include "support/child_test.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <signal.h>

namespace {

std::atomic<bool> is_armed{false};
std::atomic<bool> is_caught{false};
thread_local bool is_bait = false;

// For good: the end of the run stops it here.
void be_caught() noexcept {
  if (!is_bait || !is_armed.exchange(false)) return;
  is_caught = true;
  for (volatile int turns = 0;;) turns = turns + 1;
}

}  // namespace

[[gnu::noinline]] void* operator new(std::size_t bytes) {
  be_caught();
  if (void* const memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

extern "C" void* dlopen(char const* name, int how) noexcept {
  be_caught();
  using signature = void* (*)(char const*, int);
  static auto const next = reinterpret_cast<signature>(::dlsym(RTLD_NEXT, "dlopen"));
  return next(name, how);
}

namespace thrum {
namespace {

class first_use : public test::child_test {};

enum class run_number { first, second };

// From here on, in the first run, the calling goroutine is caught.
void arm(run_number which) { is_armed = which == run_number::first; }

// `use` is caught in the first run and works in the next.
void catch_in_the_first_run(void (*use)(run_number)) {
  run(
      [use] {
        go([use] {
          os_thread_lock const here;  // the bait is a thread
          is_bait = true;
          use(run_number::first);
          std::_Exit(3);  // it came through
        });
        if (!test::wait_until([] { return is_caught.load(); })) std::_Exit(4);
      },
      {.max_procs = 2});
  run([use] { use(run_number::second); }, {.max_procs = 2});
  std::_Exit(0);
}

TEST_F(first_use, a_subscription_to_signals_leaves_no_lock_behind) {
  auto const use = [](run_number which) {
    arm(which);
    static_cast<void>(signals(SIGUSR1));
  };
  EXPECT_EXIT(catch_in_the_first_run(use), testing::ExitedWithCode(0), "");
}

TEST_F(first_use, the_channel_of_a_cancelled_context_leaves_no_guard_behind) {
  auto const use = [](run_number which) {
    auto const [ctx, cancel] = with_cancel(context::background());
    cancel();
    arm(which);
    static_cast<void>(ctx.done());
  };
  EXPECT_EXIT(catch_in_the_first_run(use), testing::ExitedWithCode(0), "");
}

TEST_F(first_use, a_look_whether_c_ares_is_there_leaves_no_guard_behind) {
  bool const is_child = testing::internal::InDeathTestChild();
  if (!is_child && !rt::names_can_be_queried()) GTEST_SKIP() << "c-ares is not used here, so nothing is loaded";
  auto const use = [](run_number which) {
    arm(which);
    static_cast<void>(rt::names_can_be_queried());
  };
  EXPECT_EXIT(catch_in_the_first_run(use), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace thrum
