// Walks a stack from saved registers: the stack of a context that has switched away, and of code that a signal
// interrupted.
#include "arch/stack_walk.h"

#include "arch/context.h"
#include "base/platform.h"
#include "os/interrupted_code.h"
#include "os/signal.h"
#include "os/thread.h"
#include "support/scale.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include <alloca.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <ucontext.h>
#include <unwind.h>

extern "C" void thrum_goroutine_entry();  // entry_<architecture>.S

// Its first instruction traps, and its neighbour's unwind information is wrong for it.
extern "C" void thrum_test_trap_at_once();
#if defined(__aarch64__)
asm(R"(
        .text
        .p2align 4
        .cfi_startproc
        .cfi_def_cfa sp, 4096
        .cfi_undefined x30
        nop
        .cfi_endproc
        .globl thrum_test_trap_at_once
        .type thrum_test_trap_at_once, %function
thrum_test_trap_at_once:
        .cfi_startproc
        brk #1
        ret
        .cfi_endproc
        .size thrum_test_trap_at_once, . - thrum_test_trap_at_once
)");
#elif defined(__x86_64__)
asm(R"(
        .text
        .p2align 4
        .cfi_startproc
        .cfi_def_cfa rsp, 4096
        .cfi_undefined rip
        nop
        .cfi_endproc
        .globl thrum_test_trap_at_once
        .type thrum_test_trap_at_once, @function
thrum_test_trap_at_once:
        .cfi_startproc
        ud2
        ret
        .cfi_endproc
        .size thrum_test_trap_at_once, . - thrum_test_trap_at_once
)");
#endif

namespace thrum::rt {
namespace {

constexpr std::size_t pcs_max = 256;

struct trace {
  std::uintptr_t pcs[pcs_max];
  std::size_t count = 0;

  void take(stack_registers const& from, stack_range on, std::size_t max = pcs_max) noexcept {
    count = walk_stack(from, on, pcs, max);
  }
  [[nodiscard]] std::vector<std::uintptr_t> functions() const {
    std::vector<std::uintptr_t> result;
    for (std::size_t i = 0; i < count; ++i) {
      result.push_back(
          reinterpret_cast<std::uintptr_t>(_Unwind_FindEnclosingFunction(reinterpret_cast<void*>(pcs[i] + 1))));
    }
    return result;
  }
};

template <class Function>
std::uintptr_t address_of(Function* function) {
  return reinterpret_cast<std::uintptr_t>(function);
}

// The functions of `chain`, one calling the next from the right, stand together somewhere in the trace.
testing::AssertionResult shows(trace const& taken, std::vector<std::uintptr_t> const& chain) {
  auto const functions = taken.functions();
  if (std::search(functions.begin(), functions.end(), chain.begin(), chain.end()) != functions.end()) {
    return testing::AssertionSuccess();
  }
  auto result = testing::AssertionFailure() << "not in a trace of " << functions.size() << ":";
  for (std::uintptr_t const function : functions) result << ' ' << reinterpret_cast<void*>(function);
  return result;
}

void keep_frame() { asm volatile("" ::: "memory"); }  // what stands before it is not a tail call

// --- one that has switched away ---

class other_stack {
 public:
  explicit other_stack(void (*visit)()) : visit_(visit) {
    active = this;
    make_context(there, memory_.get(), memory_.get() + bytes, &start);
    auto const own = os::current_thread_stack();
    adopt_thread_stack(here, own.low, own.high);
  }
  ~other_stack() { forget_context(there); }
  other_stack(other_stack const&) = delete;
  other_stack& operator=(other_stack const&) = delete;

  void enter() { switch_context(here, there, departure::comes_back); }
  [[nodiscard]] stack_range range() const { return {memory_.get(), memory_.get() + bytes}; }
  [[nodiscard]] trace walked(std::size_t max = pcs_max) const {
    trace result;
    result.take(registers_of(there), range(), max);
    return result;
  }

  THRUM_OPAQUE static void start() {
    active->visit_();
    keep_frame();
    std::abort();
  }
  THRUM_OPAQUE static void leave() {
    switch_context(active->there, active->here, departure::comes_back);
    keep_frame();
  }

  static inline other_stack* active = nullptr;
  context here;
  context there;

 private:
  static constexpr std::size_t bytes = 256 * 1024;

  void (*visit_)();
  std::unique_ptr<char, decltype(&std::free)> memory_{static_cast<char*>(std::aligned_alloc(16, bytes)), &std::free};
};

volatile std::size_t some_bytes = 1000;
void use(void* memory) { asm volatile("" : : "r"(memory) : "memory"); }

using step = void (*)();
constinit step innermost = nullptr;

THRUM_OPAQUE void plain_frame() {
  innermost();
  keep_frame();
}

THRUM_OPAQUE void frame_with_alloca() {
  use(alloca(some_bytes));
  plain_frame();
  use(alloca(some_bytes));
  keep_frame();
}

THRUM_OPAQUE void over_aligned_frame() {
  alignas(256) char aligned[512];
  use(aligned);
  frame_with_alloca();
  use(aligned);
}

THRUM_OPAQUE void over_aligned_frame_with_alloca() {
  alignas(128) char aligned[128];
  use(aligned);
  use(alloca(some_bytes));
  over_aligned_frame();
  use(aligned);
}

std::vector<std::uintptr_t> all_kinds_of_frames() {
  return {address_of(&plain_frame), address_of(&frame_with_alloca), address_of(&over_aligned_frame),
          address_of(&over_aligned_frame_with_alloca)};
}

THRUM_OPAQUE void go_deep(int frames) {  // NOLINT(misc-no-recursion)
  if (frames == 0) {
    other_stack::leave();
  } else {
    go_deep(frames - 1);
  }
  keep_frame();
}

TEST(stack_walk, a_stack_that_switched_away_is_walked_to_its_entry) {
  innermost = &other_stack::leave;
  other_stack other(&over_aligned_frame_with_alloca);
  other.enter();
  trace const taken = other.walked();
  std::vector<std::uintptr_t> whole{address_of(&switch_context), address_of(&other_stack::leave)};
  for (std::uintptr_t const function : all_kinds_of_frames()) whole.push_back(function);
  whole.push_back(address_of(&other_stack::start));
  whole.push_back(address_of(&thrum_goroutine_entry));
  EXPECT_TRUE(shows(taken, whole));
  EXPECT_EQ(taken.count, whole.size());
  EXPECT_EQ(taken.pcs[0], reinterpret_cast<std::uintptr_t>(other.there.pc));
}

TEST(stack_walk, a_stack_that_never_ran_is_its_entry) {
  other_stack const other(&keep_frame);
  trace const taken = other.walked();
  ASSERT_EQ(taken.count, 1U);
  EXPECT_EQ(taken.pcs[0], address_of(&thrum_goroutine_entry));
}

TEST(stack_walk, a_deep_stack_is_cut_at_the_limit) {
  other_stack other([] {
    go_deep(100);
    keep_frame();
  });
  other.enter();
  EXPECT_GE(other.walked().count, 100U);
  EXPECT_LT(other.walked().count, 110U);
  trace const cut = other.walked(10);
  EXPECT_EQ(cut.count, 10U);
  EXPECT_TRUE(shows(cut, {address_of(&other_stack::leave), address_of(&go_deep), address_of(&go_deep)}));
  EXPECT_EQ(other.walked(1).count, 1U);
  EXPECT_EQ(other.walked(0).count, 0U);
}

TEST(stack_walk, a_walk_does_not_leave_the_range) {
  other_stack other([] {
    go_deep(100);
    keep_frame();
  });
  other.enter();
  auto const registers = registers_of(other.there);
  char const* const sp = static_cast<char const*>(other.there.sp);
  trace taken;
  taken.take(registers, {other.range().low, sp});
  EXPECT_EQ(taken.count, 1U) << "the stack pointer is outside: only the program counter is sure";
  taken.take(registers, {other.range().low, sp + 1});
  EXPECT_EQ(taken.count, 1U);
  taken.take(registers, {sp, sp + (other.range().high - sp) / 2});
  EXPECT_GT(taken.count, 30U);
  EXPECT_LT(taken.count, 70U);
}

// --- one that a signal interrupted ---

trace interrupted;
stack_range interrupted_stack;
std::atomic<int> interruptions;

void take_interrupted(void const* machine_state) {
  interrupted.take(os::interrupted_registers(machine_state), interrupted_stack);
  interruptions.fetch_add(1, std::memory_order_release);
}

class handled_signal {
 public:
  using handler = void (*)(int, siginfo_t*, void*);
  handled_signal(int number, handler function) : number_(number) {
    auto const own = os::current_thread_stack();
    interrupted_stack = {own.low, own.high};
    interrupted.count = 0;
    interruptions = 0;
    struct sigaction action {};
    action.sa_sigaction = function;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(number, &action, &before_);
  }
  ~handled_signal() { sigaction(number_, &before_, nullptr); }
  handled_signal(handled_signal const&) = delete;
  handled_signal& operator=(handled_signal const&) = delete;

 private:
  int number_;
  struct sigaction before_;
};

THRUM_SIGNAL_ENTRY void on_signal(int, siginfo_t*, void* machine_state) { take_interrupted(machine_state); }

// The trap is one instruction; go on behind it.
THRUM_SIGNAL_ENTRY void on_trap(int, siginfo_t*, void* machine_state) {
  take_interrupted(machine_state);
  auto& machine = static_cast<ucontext_t*>(machine_state)->uc_mcontext;
#if defined(__aarch64__)
  machine.pc += 4;
#elif defined(__x86_64__)
  machine.gregs[REG_RIP] += 2;
#endif
}

// Nothing was executed but a call: return from it.
THRUM_NO_ASAN THRUM_SIGNAL_ENTRY void on_wild_call(int, siginfo_t*, void* machine_state) {
  take_interrupted(machine_state);
  auto& machine = static_cast<ucontext_t*>(machine_state)->uc_mcontext;
#if defined(__aarch64__)
  machine.pc = machine.regs[30];
#elif defined(__x86_64__)
  machine.gregs[REG_RIP] = *reinterpret_cast<greg_t const*>(machine.gregs[REG_RSP]);
  machine.gregs[REG_RSP] += 8;
#endif
}

THRUM_OPAQUE void raise_here() {
  raise(SIGUSR1);
  keep_frame();
}

TEST(stack_walk, a_thread_that_raised_a_signal_is_walked_from_there) {
  handled_signal const handled(SIGUSR1, on_signal);
  innermost = &raise_here;
  over_aligned_frame_with_alloca();
  auto chain = all_kinds_of_frames();
  chain.insert(chain.begin(), address_of(&raise_here));
  EXPECT_TRUE(shows(interrupted, chain));
  EXPECT_LT(interrupted.count, pcs_max) << "it ends where the program began";
}

TEST(stack_walk, the_first_instruction_of_a_function_is_not_taken_for_the_one_before_it) {
#if defined(__aarch64__)
  handled_signal const handled(SIGTRAP, on_trap);
#else
  handled_signal const handled(SIGILL, on_trap);
#endif
  innermost = &thrum_test_trap_at_once;
  plain_frame();
  ASSERT_GE(interrupted.count, 2U);
  EXPECT_EQ(interrupted.pcs[0], address_of(&thrum_test_trap_at_once));
  EXPECT_EQ(interrupted.functions()[1], address_of(&plain_frame));
}

__attribute__((no_sanitize("undefined"))) THRUM_OPAQUE void call_nowhere() {
  static step volatile nowhere = reinterpret_cast<step>(std::uintptr_t{16});
  nowhere();
  keep_frame();
}

TEST(stack_walk, a_call_to_nowhere_shows_its_caller) {
  handled_signal const handled(SIGSEGV, on_wild_call);
  call_nowhere();
  ASSERT_GE(interrupted.count, 2U);
  EXPECT_EQ(interrupted.pcs[0], 16U);
  EXPECT_EQ(interrupted.functions()[1], address_of(&call_nowhere));
}

// --- one that another thread interrupts ---

volatile int spinning_since = 0;
volatile int stop = 0;

THRUM_OPAQUE void spin() {
  while (stop == 0) spinning_since = spinning_since + 1;
}

// Short, so that it is often interrupted on its way in or out.
THRUM_OPAQUE void nothing_much() { spinning_since = spinning_since + 1; }

THRUM_OPAQUE void outermost() {
  over_aligned_frame_with_alloca();
  keep_frame();
}

class interrupted_thread {
 public:
  explicit interrupted_thread(step repeat) : handled_(SIGUSR1, on_signal) {
    stop = 0;
    spinning_since = 0;
    std::atomic<bool> ready{false};
    thread_ = std::thread([&ready, repeat] {
      auto const own = os::current_thread_stack();
      interrupted_stack = {own.low, own.high};
      ready = true;
      while (stop == 0) repeat();
    });
    while (!ready || spinning_since < 2) std::this_thread::yield();
  }
  ~interrupted_thread() {
    stop = 1;
    thread_.join();
  }
  interrupted_thread(interrupted_thread const&) = delete;
  interrupted_thread& operator=(interrupted_thread const&) = delete;

  trace const& interrupt() {
    int const before = interruptions;
    pthread_kill(thread_.native_handle(), SIGUSR1);
    while (interruptions.load(std::memory_order_acquire) == before) std::this_thread::yield();
    return interrupted;
  }

 private:
  handled_signal handled_;
  std::thread thread_;
};

TEST(stack_walk, a_leaf_that_spins_is_interrupted_in_itself) {
  if (with_tsan) GTEST_SKIP() << "TSan keeps signals back until the next call";
  innermost = &spin;
  interrupted_thread thread(&outermost);
  auto chain = all_kinds_of_frames();
  chain.insert(chain.begin(), address_of(&spin));
  chain.push_back(address_of(&outermost));
  for (int i = 0; i < 100; ++i) {
    trace const& taken = thread.interrupt();
    ASSERT_TRUE(shows(taken, chain));
    ASSERT_EQ(taken.functions()[0], address_of(&spin));
    ASSERT_LT(taken.count, pcs_max);
  }
}

TEST(stack_walk, a_thread_is_walked_to_its_start_from_wherever_it_was_interrupted) {
  if (with_tsan) GTEST_SKIP() << "TSan keeps signals back: the registers are not those of the moment";
  innermost = &nothing_much;
  interrupted_thread thread(&outermost);
  auto const start = thread.interrupt().functions().back();
  for (std::int64_t i = 0; i < test::scaled(1000, 100); ++i) {
    ASSERT_EQ(thread.interrupt().functions().back(), start) << "interrupted in " << interrupted.functions()[0];
  }
}

TEST(stack_walk, the_unwinder_can_be_made_ready_in_advance) {
  prepare_stack_walks();
  prepare_stack_walks();
}

}  // namespace
}  // namespace thrum::rt
