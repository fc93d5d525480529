// Samples of what threads compute, taken in a signal handler (os/sample_signal.h) and read by the thread of a CPU
// profile (debug/cpu_profile.h).
//
// Each thread that is sampled has a buffer of its own, with one writer, its signal handler, and one reader. So neither
// waits or takes a lock. The handler allocates nothing and reads only what its own thread has written, or what does not
// change while the goroutine runs.
//
// The handler may find the thread anywhere, also in the middle of a switch between two stacks. It walks a stack only if
// the stack pointer lies on the stack of the current goroutine, or on no goroutine's stack at all (TR-08). Then the
// walk may still meet wrong unwind information, so it is a guarded call (os/guarded_call.h).
//
// Invariants:
//  1. Buffers are never freed, because a signal may come late. The handler does nothing if the buffer is not for the
//     thread that it runs on.
//  2. A buffer is given to another thread only when no handler works in it.
//  3. All signals but those of faults are blocked while the handler takes a sample, so no handler of the program can
//     leave it by longjmp.
//
// A walk along the unwind tables is safe in a signal handler only if the loader can be asked without a lock
// (os/late_code.h), and if the program has registered no tables at run time, which static programs do. Otherwise a
// sample is one address.
#pragma once

#include "base/atomic.h"
#include "base/platform.h"
#include "os/sample_signal.h"

#include <cstddef>
#include <cstdint>

namespace thrum::rt {

enum class sampled_in : std::uint8_t {
  goroutine,       // code of a goroutine, or code of the runtime on its stack
  runtime,         // the scheduler on a thread's own stack, or a switch between two stacks
  foreign_thread,  // a thread that thrum did not make
};

struct cpu_sample {
  static constexpr std::size_t frames_max = 64;
  static constexpr std::size_t name_max = 32;  // a multiple of 8; with a final zero

  // One word.
  std::uint32_t count;  // of periods
  std::uint16_t frames;
  sampled_in where;
  bool has_gone_wrong;  // a fault has ended the walk

  std::uint64_t goroutine;  // 0: none
  std::uintptr_t created_at;
  char name[name_max];
  std::uintptr_t pcs[frames_max];  // only `frames` of them are in the buffer
};

// What samples are to contain: see above.
enum class stacks_wanted : bool { no, yes };
void want_stacks(stacks_wanted wanted) noexcept;
// Whether this program can be asked for stacks at all.
[[nodiscard]] bool stacks_can_be_sampled() noexcept;

class sampled_thread {
 public:
  // Reader: the buffer is for this thread from now on. It must be free.
  void give_to(int tid) noexcept { tid_.store(tid, seq_cst); }
  // No handler takes a sample after this, except one that is at work.
  void take_away() noexcept { tid_.store(0, seq_cst); }
  // After take_away. seq_cst: either the handler sees that the buffer is not for its thread, or this sees the handler.
  [[nodiscard]] bool is_at_rest() const noexcept { return at_work_.load(seq_cst) == 0; }

  // Reader: copies the oldest sample. Returns false if there is none.
  [[nodiscard]] bool read(cpu_sample& to) noexcept;
  // Reader: how many periods had no room since the last call.
  [[nodiscard]] std::uint64_t take_lost() noexcept { return lost_.exchange(0U, relaxed); }

  // In the handler.
  void sample(std::uint32_t count, void const* ucontext) noexcept;

 private:
  static constexpr std::size_t words_max = 4096;

  void write(cpu_sample const& from) noexcept;

  atomic<int> tid_{0};  // 0: free
  // Handlers in sample(). A late signal of the timer may still come to the thread that had the buffer before.
  atomic<std::uint32_t> at_work_{0};
  atomic<std::uint64_t> lost_{0};
  // The numbers of words that were ever written and read.
  alignas(cache_line_bytes) atomic<std::uint64_t> written_{0};
  alignas(cache_line_bytes) atomic<std::uint64_t> read_{0};
  std::uint64_t words_[words_max];
};

// Buffer n belongs to timer n. nullptr: there is no memory for it. Called by one thread at a time.
[[nodiscard]] sampled_thread* make_sampled_thread(std::size_t n) noexcept;

// Makes signals of timers take samples. May be called more than once.
void take_samples_on_signal() noexcept;

}  // namespace thrum::rt
