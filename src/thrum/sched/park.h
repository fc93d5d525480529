// Waiting and being woken: park and ready (Go's gopark, goready). Also the yield at the end of a slice, and what
// happens when a goroutine that can be joined, or the main goroutine, has ended.
#pragma once

#include "core/sched.h"
#include "sched/suspend.h"

#include <cstdint>

namespace thrum::rt {

// Where the user's code has called the function that calls this, as a return address. Traces name it as the place that
// woke a goroutine. The function that calls this is a public one and is never inlined, because its return address would
// be another one then.
[[nodiscard, gnu::always_inline]] inline std::uintptr_t site_of_caller() noexcept {
  return reinterpret_cast<std::uintptr_t>(__builtin_return_address(0));
}

// Parks the current goroutine until another thread or goroutine readies it. A waker can find it only through what
// `commit` publishes. The usual way is to enqueue the G under a lock and let the commit step release that lock. A
// commit step that finds its event already there readies the G itself. `object` names for traces what it waits for
// (docs/trace-format.md). Returns the M on which the goroutine runs then. On a G, inside the runtime.
M& park(M& m, wait_reason reason, commit_step commit, void* argument, commit_holds holds,
        std::uintptr_t object = 0) noexcept;

// A wait that began at `since_ns` is over: adds it to the statistics of m's P.
[[gnu::noinline]] void note_end_of_wait(M& m, wait_reason reason, std::int64_t since_ns) noexcept;

// Called in a channel operation or a select, which may change the thread anyway. If the goroutine was asked to pause
// and the request is about its present slice, it yields to the end of the global queue, so no thread has to be paused
// (sys/preempt.h). Otherwise leave_runtime() handles the request. Returns the M on which the goroutine runs then. On a
// G, inside the runtime.
[[gnu::noinline]] M& yield_at_end_of_slice(M& m) noexcept;
[[nodiscard, gnu::always_inline]] inline M& yield_if_asked(M& m) noexcept {
  if ((m.attention.load(relaxed) & m_attend::pause) == 0) [[likely]]
    return m;
  return yield_at_end_of_slice(m);
}

// Parks the goroutine for ever, because what it waits for cannot come, or its run is over. With no lock held.
[[noreturn]] void sleep_for_good(M& m, wait_reason reason = wait_reason::none) noexcept;

// Makes a parked goroutine runnable, as the next to run on m's P, and starts an M on an idle P if there is one (wake.h
// says when that is put off). Never switches. m holds a P. `site` is site_of_caller() of the public function in which
// the waker is, or 0 if the user's code did not call one.
void ready(M& m, G& g, std::uintptr_t site = 0) noexcept;

// The same for a crowd: the first goroutine is the next to run, and the others fill idle Ps and m's own.
void ready_all(M& m, g_list& waiting, std::uintptr_t site = 0) noexcept;

// The same for a crowd that comes in several lists, as if it were one.
class crowd_to_wake {
 public:
  explicit crowd_to_wake(M& m, std::uintptr_t site = 0) noexcept : m_(m), site_(site) {}
  void wake(g_list& waiting) noexcept;  // leaves the list empty

 private:
  M& m_;
  std::uintptr_t const site_;
  bool is_first_ = true;
};

// --- joining ---

// The user code of a joinable goroutine has ended, so the handle may take the result. In user code, on the goroutine's
// own stack.
void publish_finished(G& g);

// --- main ---

// The main goroutine has ended, by returning or by goexit.
void main_goroutine_ended(M& m, G& main) noexcept;

}  // namespace thrum::rt
