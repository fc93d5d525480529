// Who am I: the M of the calling thread.
//
// Read by a volatile asm: a compiler may neither merge two reads nor keep the address of the thread-local across a call,
// because in between the goroutine may have moved to another thread (T09). Initial-exec TLS: one or two instructions.
#pragma once

#include "core/m.h"

extern "C" {
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
extern constinit thread_local thrum::rt::M* thrum_current_m __attribute__((tls_model("initial-exec")));
}

namespace thrum::rt {

// nullptr on threads that are not ours.
[[gnu::always_inline]] inline M* current_m() noexcept {
  M* m;
#if defined(__aarch64__)
  void* base;
  asm volatile(
      "adrp %0, :gottprel:thrum_current_m\n\t"
      "ldr  %0, [%0, #:gottprel_lo12:thrum_current_m]\n\t"
      "mrs  %1, tpidr_el0\n\t"
      "ldr  %0, [%1, %0]"
      : "=&r"(m), "=&r"(base)
      :
      : "memory");
#elif defined(__x86_64__)
  asm volatile(
      "movq thrum_current_m@gottpoff(%%rip), %0\n\t"
      "movq %%fs:(%0), %0"
      : "=&r"(m)
      :
      : "memory");
#endif
  return m;
}

void set_current_m(M* m) noexcept;
[[nodiscard]] M** own_m_place() noexcept;  // where the calling thread keeps it

// What a higher floor does, filled by boot. About M::attention, on the M itself: `entered` returns with the mark set and a P.
// `seat` makes an M for a thread that has none (sys/foreign.h), or answers nullptr.
struct higher_hooks {
  void (*entered)(M& m) noexcept;
  void (*left)(M& m) noexcept;
  M* (*seat)() noexcept;
};
extern constinit higher_hooks m_hooks;

// The M of the calling goroutine; of any other thread, its own. nullptr: no run is alive.
[[nodiscard, gnu::always_inline]] inline M* callers_m() noexcept {
  M* const m = current_m();
  return m != nullptr && m->current != nullptr ? m : m_hooks.seat();
}

// In builds with checks, if the environment asks for it (os/chaos.h): now and then its slice is over when it leaves the runtime.
void end_slice_by_chance(M& m) noexcept;

// The mark that says "inside the scheduler" (T01). Everything public enters and leaves once; the functions below never
// nest it. A goroutine that parks comes back on another M whose mark is set as well.
//
// Both look at M::attention afterwards. Whoever wants the M's attention, a signal handler on its thread or another thread
// behind a process-wide barrier, sets that first and then looks at the mark: so either he sees the mark right, or it is seen.
[[gnu::always_inline]] inline void enter(M& m) noexcept {
  m.in_runtime.store(true, relaxed);
  signal_fence();
  if (m.attention.load(relaxed) != 0) [[unlikely]]
    m_hooks.entered(m);
}
// Only the end of leave(), for those who look at the attention themselves.
[[gnu::always_inline]] inline void clear_mark(M& m) noexcept {
  signal_fence();  // what it did in there comes first, for those behind the barrier
  // release only for ThreadSanitizer, which does not know the barrier that sysmon brings about
  m.in_runtime.store(false, with_tsan ? release : relaxed);
}
[[gnu::always_inline]] inline void leave(M& m) noexcept {
  if constexpr (debug_checks) end_slice_by_chance(m);
  clear_mark(m);
  signal_fence();
  if (m.attention.load(relaxed) != 0) [[unlikely]]
    m_hooks.left(m);
}

// A thread from outside is to leave the runtime and come back, and needs the run's memory meanwhile. Inside the runtime; and,
// anywhere, the way back.
inline void keep_run(M& m) noexcept {
  if (m.is_foreign) m.keeps_run.fetch_add(1U, relaxed);  // published by going away
}
inline void let_run_go(M& m) noexcept {
  if (m.is_foreign) m.keeps_run.fetch_sub(1U, release);  // pairs with is_inside
}

class [[nodiscard]] kept_run {
 public:
  explicit kept_run(M& m) noexcept : m_(m) { keep_run(m_); }
  ~kept_run() { let_run_go(m_); }
  kept_run(kept_run const&) = delete;
  kept_run& operator=(kept_run const&) = delete;

 private:
  M& m_;
};

// g goes on here, perhaps on another M than before. If it only visits the runtime from inside a blocking call, it goes away
// again when it leaves the runtime.
[[gnu::always_inline]] inline void stay_announced(M& m, G const& g) noexcept {
  if (g.blocking_depth != 0) [[unlikely]]
    m.attention.store(m_attend::visits, relaxed);
}

}  // namespace thrum::rt
