// Statistics of the runtime.
//
//   thrum::stats const now = thrum::read_stats();
//   std::printf("%llu goroutines wait, %d threads rest\n", static_cast<unsigned long long>(now.waiting),
//               now.idle_threads);
//
// Thread safety: read_stats may be called from any goroutine or thread while a runtime is alive; otherwise it throws
// std::logic_error.
//
// Each member says what it means. docs/stats.md lists all of them with the names of the metrics that prometheus_text
// makes of them, and says how to read them.
//
// Counts only grow while a run is alive, and begin at 0 with each run. They are exact unless a comment says otherwise.
//
// Cost: read_stats interrupts each P briefly. So call it about once a second, not for every request. A stats object
// takes 9 KiB, which is much of a small stack.
#pragma once

#include <thrum/detail/at_least_cxx20.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace thrum {

// What one P has done since the run began.
struct proc_stats {
  int id = 0;                         // 0 to one less than the largest number of Ps that the run has had
  bool in_use = true;                 // false: set_max_procs has taken it out of use, and the figures are from before
  std::uint32_t queued = 0;           // goroutines that wait in its run queue
  std::uint32_t stacks_cached = 0;    // stacks that it keeps for its next goroutines
  std::uint64_t created = 0;          // goroutines that were created on it
  std::uint64_t ended = 0;            // goroutines that ended on it
  std::uint64_t switches_direct = 0;  // switches straight from one goroutine to the next
  std::uint64_t switches_via_g0 = 0;  // switches through the scheduling stack
  // times that a goroutine ended and the next one began on its stack, without a switch
  std::uint64_t stack_handovers = 0;
  std::uint64_t joined_in_place = 0;  // children that ran on the stack of the goroutine that joined them
  std::uint64_t parks = 0;            // times that a goroutine began to wait on it
  std::uint64_t readies = 0;          // waiting goroutines that were made runnable on it
  std::uint64_t yields = 0;           // calls of yield after which another goroutine ran
  std::uint64_t overflows = 0;        // times that the run queue was full and half of it went to the global queue
  std::uint64_t global_takes = 0;     // goroutines taken from the global queue
  std::uint64_t steals = 0;           // times that it took goroutines from the run queue of another P
  std::uint64_t stolen = 0;           // goroutines that these steals brought
  std::uint64_t wakes = 0;            // idle Ps that it has woken
  std::uint64_t spins = 0;            // searches for work
  std::uint64_t spinning_ns = 0;      // how long these searches took, in nanoseconds
  std::uint64_t timers_run = 0;       // goroutines woken from sleep, and timers fired
  std::uint64_t polls = 0;            // polls of descriptors without blocking
  // Times that a goroutine left this P for a call: with blocking(), after each use of thrum inside blocking(), and at
  // the end of each call of thrum by a thread that is no goroutine.
  std::uint64_t syscalls = 0;
  // How many of these gave the P away at once: calls declared long, and calls by a thread that had made goroutines
  // runnable.
  std::uint64_t handed_off = 0;
  // returns from such a call to this P, which was idle, because their own P was taken
  std::uint64_t returns_to_idle = 0;
  std::uint64_t returns_queued = 0;  // goroutines that found no P after such a call, were queued, and later ran here
  // Goroutines that were preempted because their time slice was over or the world was stopped: in the middle of user
  // code, or in a call that may switch.
  std::uint64_t preempted = 0;
};

// A place in the program where goroutines slept in the kernel without thrum::blocking. Such calls work, because sysmon
// takes the P from the sleeping thread. If they are announced with thrum::blocking, the P becomes available sooner.
struct unannounced_call {
  long system_call = -1;         // its number, as in <sys/syscall.h>; -1 if the kernel did not tell
  void const* caller = nullptr;  // an address in the program that made the call, for addr2line; nullptr if not found
  std::uint64_t count = 0;       // Ps that sysmon took from threads that slept there
};

// A histogram of how long something took. The buckets are those of Go's runtime/metrics without the one for negative
// times: there are four for each power of two, so from 256 ns on the upper edge of a bucket is at most a quarter above
// its lower edge.
struct durations {
  static constexpr std::size_t buckets = 161;

  std::uint64_t count = 0;              // how many times are in it
  std::chrono::nanoseconds total{0};    // their sum
  std::chrono::nanoseconds longest{0};  // the longest of them since the run began
  // by_time[i] counts how many took at least lower_edge(i) and less than lower_edge(i + 1).
  std::array<std::uint64_t, buckets> by_time{};

  // The lower edges are 0, 64, 128, 192, 256, 320, ... ns. The last bucket begins at 2^47 ns, which is about 39 hours,
  // and has no upper edge.
  [[nodiscard]] static constexpr std::chrono::nanoseconds lower_edge(std::size_t bucket) noexcept {
    auto const part = static_cast<std::int64_t>(bucket % 4);
    std::size_t const power = bucket / 4;
    return std::chrono::nanoseconds(power == 0 ? part * 64 : (4 + part) << (power + 5));
  }
};

// How often goroutines have waited for one reason, and for how long.
struct wait_stats {
  char const* reason = "";           // in the words of a dump: "chan receive", "mutex", "IO wait", ...
  std::uint64_t count = 0;           // waits that have begun
  std::uint64_t measured = 0;        // waits that have ended and of which it is known how long they took
  std::chrono::nanoseconds time{0};  // how long these took, until the goroutine ran again
};

struct stats {
  // By id. A P that set_max_procs has taken out of use stays in the list, so that sums over all Ps never fall.
  std::vector<proc_stats> procs;
  // Goroutines by state. Main and the calling goroutine are included, threads that thrum did not make are not. The
  // goroutines are counted while they run, so the figures are exact only for goroutines that do not change their state
  // meanwhile.
  std::uint64_t running = 0;       // on a thread with a P
  std::uint64_t runnable = 0;      // in a run queue, or paused until their next time slice
  std::uint64_t in_calls = 0;      // in the kernel, announced or not
  std::uint64_t waiting = 0;       // for another goroutine, for a time, or for a child
  std::uint64_t created = 0;       // since the run began
  std::uint32_t global_queue = 0;  // goroutines in the queue that all Ps share
  int idle_procs = 0;              // Ps that no thread uses
  int threads = 0;                 // OS threads of the scheduler, including the thread that called run
  int idle_threads = 0;            // those of them that have no P and rest until they are needed
  int spinning_threads = 0;        // those of them that search for work
  std::uint64_t sysmon_looks = 0;  // how often sysmon has examined the Ps; it does not while the program is idle
  std::uint64_t retaken = 0;       // Ps that sysmon took from announced calls
  std::uint64_t unannounced = 0;   // Ps that sysmon took from threads that slept in the kernel in an unannounced call
  std::vector<unannounced_call> unannounced_calls;  // the first 32 places of such calls
  // Signals that were sent to end time slices or to stop the world, including repeated ones.
  std::uint64_t preemptions_asked = 0;
  int paused_threads = 0;  // threads that sleep in the middle of user code until the next time slice of their goroutine
  std::uint64_t file_reads_waited = 0;  // reads of files that waited for the disk without a thread
  // reads that kept a thread, because few were under way or io_uring was not available
  std::uint64_t file_reads_handed_off = 0;
  // How long goroutines waited between becoming runnable and running. Only a sample is measured: one in 64 where
  // threads go to sleep and are woken, and one in some thousand where goroutines follow each other on a thread.
  // Goroutines that are locked to a thread are not measured.
  durations ready_to_run;
  // Calls announced with blocking() without long_call, from the announcement until the goroutine ran again. One in 64
  // is measured, unless the goroutine uses thrum inside the call.
  durations calls_took;
  durations long_calls_took;  // the same for calls announced with long_call; all of them are measured
  durations polls_took;       // polls of descriptors without blocking; one in 16 is measured
  durations stopping_took;    // stops of the world: how long until all Ps had stopped
  durations stopped_for;      // stops of the world: how long until all Ps were started again
  // By reason. Waits for a mutex or a shared_mutex are always measured; other waits if measure_waits asks for it,
  // because two looks at the clock would take as long as many of these waits. A wait for a lock may consist of several,
  // because a goroutine that was woken may find the lock taken.
  static constexpr std::size_t wait_reasons = 19;
  std::array<wait_stats, wait_reasons> waits{};
  // The time that Ps were idle, summed up over all Ps. Divided by the time that has passed, it is the number of CPUs
  // that the program did not use of those that it may.
  std::chrono::nanoseconds idle_time{0};
  std::size_t stacks_in_use = 0;  // used by goroutines
  std::size_t stacks_cached = 0;  // kept by the Ps for their next goroutines
  // Kept for all Ps. A stack that was unused for 0.1 to 0.2 s keeps at most 8 KiB of its memory.
  std::size_t stacks_free = 0;
  std::size_t stacks_guarded = 0;    // stacks whose overflow is caught by memory that cannot be accessed
  std::size_t stacks_unguarded = 0;  // stacks without: see docs/limits.md
};

[[nodiscard]] stats read_stats();  // the figures of each P are from one moment

// Whether all waits are measured for stats::waits, from now on or until now. That costs each wait about 50 ns.
// THRUM_DEBUG=waittimes=1 does the same for a whole run. Returns whether they were measured before. May be called on
// any thread while a runtime is alive; otherwise it throws std::logic_error.
bool measure_waits(bool on);

// The statistics in Prometheus' text exposition format, version 0.0.4, to be served as
// "text/plain; version=0.0.4; charset=utf-8". The names begin with "thrum_", and times are in seconds. Counts of the Ps
// are summed up. May be called on any thread, also without a runtime.
//
//   response.body = thrum::prometheus_text(thrum::read_stats());
[[nodiscard]] std::string prometheus_text(stats const& of);

}  // namespace thrum
