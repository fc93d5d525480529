// The runtime's figures, and what can be asked of it as a whole.
//
//   thrum::stats const now = thrum::read_stats();
//   std::printf("%llu goroutines wait, %d threads rest\n", static_cast<unsigned long long>(now.waiting), now.idle_threads);
//
//   int const before = thrum::set_max_procs(2);       // from now on
//   { thrum::os_thread_lock const here; gl_draw(); }  // for libraries that belong to a thread
//   thrum::dump_goroutines(stderr);                   // who waits for what, and where
//
// Thread safety: all may be called from any goroutine or thread while a runtime is alive: std::logic_error otherwise. read_stats interrupts each P for a moment, set_max_procs and
// dump_goroutines stop the world for some hundred microseconds: for figures every second, not for every request. num_goroutines and
// its kin only read some words.
#pragma once

#include <thrum/detail/at_least_cxx20.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace thrum {

[[nodiscard]] int max_procs();  // how many goroutines may run at once
// From now on n; answers how many it was before. Stops the world for that. Nothing changes if n is not positive;
// more than 1,024 throw std::invalid_argument.
int set_max_procs(int n);
[[nodiscard]] int num_goroutines();  // alive now, main included
[[nodiscard]] int num_threads();     // OS threads of the scheduler, the caller of run included
[[nodiscard]] int num_cpus();        // that affinity and the cgroup quota allow; usable anywhere

// Wires the calling goroutine to an OS thread until it is unlocked as many times: it runs on no other thread, and the thread runs nothing
// else. For libraries and settings that belong to a thread. A goroutine that ends locked takes its thread with it. Unlocking one that is
// not locked does nothing. While it waits, its P is others'.
// The thread is the one that it is on, unless that cannot be had for one alone: the first thread, for a goroutine that main has joined
// there in place, and one that others come back to from a call of the C library (thrum::posix). Then the goroutine moves to another thread
// before it is locked, and may move back when it is unlocked. So either may change the thread: hold no std::mutex over them, and no
// address of a thread-local.
void lock_os_thread();
void unlock_os_thread();
class [[nodiscard]] os_thread_lock {
 public:
  os_thread_lock() { lock_os_thread(); }
  ~os_thread_lock() { unlock_os_thread(); }
  os_thread_lock(os_thread_lock const&) = delete;
  os_thread_lock& operator=(os_thread_lock const&) = delete;
};

// The limit of OS threads (options::max_threads) from now on; answers the old one. To have more of them already, or to pass it
// later, ends the program with a message. Less than one throws std::invalid_argument.
int set_max_threads(int limit);

// What one P has done since run began.
struct proc_stats {
  int id = 0;
  bool in_use = true;               // false: set_max_procs has taken it out of use, and what follows was before that
  std::uint32_t queued = 0;         // goroutines waiting in its queue now
  std::uint32_t stacks_cached = 0;  // stacks that it keeps for its next goroutines
  std::uint64_t created = 0;
  std::uint64_t ended = 0;
  std::uint64_t switches_direct = 0;  // straight from one goroutine to the next
  std::uint64_t switches_via_g0 = 0;  // through the scheduling stack
  std::uint64_t stack_handovers = 0;  // an ended goroutine's stack went on with the next, without a switch
  std::uint64_t joined_in_place = 0;  // children run on their joiner's stack
  std::uint64_t parks = 0;
  std::uint64_t readies = 0;
  std::uint64_t yields = 0;
  std::uint64_t overflows = 0;     // a full queue sent half of it to the global one
  std::uint64_t global_takes = 0;  // goroutines taken from the global queue
  std::uint64_t steals = 0;
  std::uint64_t stolen = 0;       // goroutines got by them
  std::uint64_t wakes = 0;        // idle Ps that it set going
  std::uint64_t spins = 0;        // searches for work begun
  std::uint64_t spinning_ns = 0;  // and how long they took, in nanoseconds
  std::uint64_t timers_run = 0;   // sleepers woken and timers fired
  // How often it was left for a call: by blocking(), again after each use of thrum inside of it, and by threads from outside.
  std::uint64_t syscalls = 0;
  // Of these, given away at once: declared long, or by a thread that had made others runnable.
  std::uint64_t handed_off = 0;
  std::uint64_t returns_to_idle = 0;  // returns from one that found their own P taken, and this one idle
  std::uint64_t returns_queued = 0;   // goroutines back from one that found no P, and were run here later
  // Goroutines that had to make room at the end of a slice, or to a world that stops: in the middle of user code, or in a call that may
  // switch.
  std::uint64_t preempted = 0;
};

// A place in the program where goroutines slept in the kernel without thrum::blocking. It works, since the P is taken from
// outside; but announced it is taken at once.
struct unannounced_call {
  long system_call = -1;         // its number, as in <sys/syscall.h>; -1: the kernel did not tell
  void const* caller = nullptr;  // an address in the program that it was called from, for addr2line; nullptr: not found
  std::uint64_t count = 0;
};

// How long something took, each time. The buckets of the histogram are those of Go's runtime/metrics, without the one for negative
// times: four for each power of two, so that a bucket is at most a quarter wider than its lower edge from 256 ns on.
struct durations {
  static constexpr std::size_t buckets = 161;

  std::uint64_t count = 0;
  std::chrono::nanoseconds total{0};
  std::chrono::nanoseconds longest{0};
  std::array<std::uint64_t, buckets>
      by_time{};  // [i]: how many took at least lower_edge(i) and less than lower_edge(i + 1)

  // 0, 64, 128, 192, 256, 320, ... ns; the last bucket begins at 2^47 ns, some 39 hours, and has no upper edge.
  [[nodiscard]] static constexpr std::chrono::nanoseconds lower_edge(std::size_t bucket) noexcept {
    auto const part = static_cast<std::int64_t>(bucket % 4);
    std::size_t const power = bucket / 4;
    return std::chrono::nanoseconds(power == 0 ? part * 64 : (4 + part) << (power + 5));
  }
};

struct stats {
  std::vector<proc_stats> procs;
  // Goroutines by what they do, main and the caller included, threads from outside not. Nobody is stopped to count them: exact for
  // those that stay as they are meanwhile.
  std::uint64_t running = 0;
  std::uint64_t runnable = 0;  // in a queue, or paused until their turn
  std::uint64_t in_calls = 0;  // in the kernel, announced or not
  std::uint64_t waiting = 0;   // for each other, for time, for a child
  std::uint64_t created = 0;   // since run began
  std::uint32_t global_queue = 0;
  int idle_procs = 0;
  int threads = 0;
  int idle_threads = 0;
  int spinning_threads = 0;
  std::uint64_t sysmon_looks = 0;  // how often sysmon has looked at the Ps: not at all while the program is idle
  std::uint64_t retaken = 0;       // Ps that it took from system calls
  std::uint64_t unannounced = 0;   // Ps that it took from threads asleep in the kernel without saying so
  std::vector<unannounced_call> unannounced_calls;  // where that was: the first 32 places
  // Signals that it sent to end slices or stop the world, and those that had to be sent again.
  std::uint64_t preemptions_asked = 0;
  int paused_threads = 0;                   // asleep in the middle of user code until their goroutine's turn
  std::uint64_t file_reads_waited = 0;      // reads of files that waited for the disk without a thread
  std::uint64_t file_reads_handed_off = 0;  // and with one: few at a time, or where the kernel has no ring
  // How long goroutines that could run waited for their turn: from becoming runnable to running. Measured of a few: one in 64
  // where threads go to sleep and are woken, one in some thousand where goroutines follow each other; of none that is locked to a thread.
  durations ready_to_run;
  durations stopping_took;        // stops of the world: until everybody had stopped
  durations stopped_for;          // and until everybody was started again
  std::size_t stacks_in_use = 0;  // by goroutines
  std::size_t stacks_cached = 0;  // kept by the Ps for their next goroutines
  std::size_t stacks_free =
      0;  // kept for all of them. What lay there for 0.1 s or two keeps 8 KiB of its memory at most
  std::size_t stacks_guarded = 0;
  std::size_t stacks_unguarded = 0;
};

// Every goroutine: its id and name, what it does or on what it waits and for how long, its stack trace and who made it. How long is known
// exactly of those that wait for a mutex. Others are seen every ten seconds (or options::scavenge_after): they have waited at least
// since they were first seen, less than a second is not said, and of threads from outside it is not known. One that sleeps in a system
// call, announced or not, is shown with the call; its stack trace then needs elfutils' libdw, and callers that are only guessed are said to
// be ("perhaps called, directly or not, from"). One that computes inside blocking() is shown where that was announced. Stops the world for a
// moment; others run on while it is written. At most 100,000 goroutines are listed, the others counted, and of a stack 48 frames. SIGQUIT
// writes the same to standard error and ends the program with exit code 2, unless the program has an action of its own for that signal.
void dump_goroutines(std::FILE* out);

[[nodiscard]] stats read_stats();  // each P's figures are of one moment

}  // namespace thrum
