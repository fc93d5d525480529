// The M of the calling thread.
//
// It is read by a volatile asm. The compiler must neither merge two reads nor keep the address of the thread-local
// variable across a call, because the goroutine may have moved to another thread in between (T09). With initial-exec
// TLS a read is one or two instructions.
#pragma once

#include "core/m.h"

extern "C" {
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
extern constinit thread_local thrum::rt::M* thrum_current_m __attribute__((tls_model("initial-exec")));
}

namespace thrum::rt {

// Returns nullptr on threads that are not Ms.
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
[[nodiscard]] M** address_of_current_m() noexcept;  // the address of the calling thread's variable

// Functions of higher layers, filled in by boot. `entered` and `left` handle M::attention on the M itself; `entered`
// returns with the mark set and with a P. `entered_if_alive` is the same for enter_if_alive. `entered_to_exit` is the
// same for a goroutine that has called exit(), which goes on without a P if the run is over and no P is idle. `seat`
// makes an M for a thread that has none (sys/foreign.h), or returns nullptr.
struct higher_hooks {
  void (*entered)(M& m) noexcept;
  bool (*entered_if_alive)(M& m) noexcept;
  void (*entered_to_exit)(M& m) noexcept;
  void (*left)(M& m) noexcept;
  M* (*seat)() noexcept;
};
extern constinit higher_hooks m_hooks;

// Returns the M of the calling goroutine. On any other thread it returns that thread's own M, or nullptr if no run is
// alive.
[[nodiscard, gnu::always_inline]] inline M* callers_m() noexcept {
  M* const m = current_m();
  return m != nullptr && m->current != nullptr ? m : m_hooks.seat();
}

// In builds with checks, if the environment asks for it (os/chaos.h): ends the slice at random when m leaves the
// runtime.
void end_slice_by_chance(M& m) noexcept;

// The mark M::in_runtime says that the thread is inside the scheduler (T01). Every public function enters and leaves
// once, and the functions below never nest it. A goroutine that parks continues on an M whose mark is set as well.
//
// Both enter and leave read M::attention after they have written the mark. A signal handler on the M's thread, or
// another thread with a process-wide barrier, sets the attention first and reads the mark afterwards. So either it sees
// the new mark, or the M sees the attention.
[[gnu::always_inline]] inline void enter_runtime(M& m) noexcept {
  m.in_runtime.store(true, relaxed);
  signal_fence();
  if (m.attention.load(relaxed) != 0) [[unlikely]]
    m_hooks.entered(m);
}
// The same for calls that a foreign thread may make just as its run ends, and that have nothing to wait for.
// enter_runtime() does not return there. This returns false, with the mark clear, and the caller must not touch the
// run's memory.
[[nodiscard, gnu::always_inline]] inline bool enter_if_alive(M& m) noexcept {
  m.in_runtime.store(true, relaxed);
  signal_fence();
  if (m.attention.load(relaxed) != 0) [[unlikely]]
    return m_hooks.entered_if_alive(m);
  return true;
}
// Only clears the mark, for callers that look at the attention themselves.
[[gnu::always_inline]] inline void clear_mark(M& m) noexcept {
  signal_fence();  // orders what the M did inside before this store, for a thread that uses the barrier
  // release only for ThreadSanitizer, which does not know sysmon's barrier
  m.in_runtime.store(false, with_tsan ? release : relaxed);
}
[[gnu::always_inline]] inline void clear_mark_and_attend(M& m) noexcept {
  clear_mark(m);
  signal_fence();
  if (m.attention.load(relaxed) != 0) [[unlikely]]
    m_hooks.left(m);
}
[[gnu::always_inline]] inline void leave_runtime(M& m) noexcept {
  if constexpr (debug_checks) end_slice_by_chance(m);
  clear_mark_and_attend(m);
}

// While it lives, no signal pauses or stops the calling goroutine. So the goroutine may hold a lock that foreign
// threads and goroutines of any run take as well, although it is in user code: the next goroutine to want the lock may
// run on the only P (T01).
//
// It sets the mark without entering the runtime, so the goroutine may have no P, and must not use the one it has. That
// is why it also serves a goroutine that its run has left behind, which would not come back from the runtime. What may
// be used under it: objects that outlive runs, and memory of the run that a lock keeps from ending (timer_record.h). A
// foreign thread is never stopped, so on such a thread it does nothing. It does not nest.
class [[nodiscard]] runtime_mark {
 public:
  runtime_mark() noexcept : m_(current_m()) {
    if (m_ != nullptr && m_->is_foreign) m_ = nullptr;
    if (m_ == nullptr) return;
    m_->in_runtime.store(true, relaxed);  // relaxed: as in enter
    signal_fence();
  }
  ~runtime_mark() {
    if (m_ != nullptr) clear_mark_and_attend(*m_);
  }
  runtime_mark(runtime_mark const&) = delete;
  runtime_mark& operator=(runtime_mark const&) = delete;

 private:
  M* m_;  // nothing under the mark switches
};

// keep_run: a foreign thread is about to leave the runtime and come back, and needs the run's memory meanwhile. Called
// inside the runtime. let_run_go undoes it, and may be called anywhere.
inline void keep_run(M& m) noexcept {
  if (m.is_foreign) m.keeps_run.fetch_add(1U, relaxed);  // relaxed: published when the thread goes away
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

// g continues on m, perhaps another M than before. If it is inside a blocking call and only visits the runtime, it
// gives its P up when it leaves the runtime.
[[gnu::always_inline]] inline void stay_announced(M& m, G const& g) noexcept {
  if (g.blocking_depth != 0) [[unlikely]]
    m.attention.store(m_attend::visits, relaxed);
}

}  // namespace thrum::rt
