#include "sys/unannounced.h"

#include "core/current.h"
#include "core/trace.h"
#include "os/barrier.h"
#include "os/chaos.h"
#include "os/loaded_code.h"
#include "os/short_wait.h"
#include "sched/queues.h"
#include "sched/requests.h"
#include "sched/resting_ms.h"
#include "sched/threads.h"
#include "sched/wake.h"
#include "stack/stack.h"

namespace thrum::rt {
namespace {

// Afterwards sysmon sees all that m's thread did before, and in what m's thread does from now on it sees all that
// sysmon did before. Where there is no membarrier, the kernel's answer that the thread sleeps has the same effect
// (os/thread_state.h). Returns false, without an effect, if the thread is awake or the kernel does not tell.
bool meet(M const& m, os::thread_watch& thread) noexcept {
  if (!os::has_barrier()) return thread.look(hint_of(m.tid)).sleeps();
  os::barrier_in_all_threads();
  return true;
}

// Steps 1 to 4 of sysmon, but for the taking itself. If this returns true, m's P, goroutine and fields belong to
// sysmon.
bool win(M& m, P const& p, os::thread_watch& thread) noexcept {
  std::uint32_t seen = m.attention.fetch_or(m_attend::offered, seq_cst) | m_attend::offered;
  if ((seen & ~(m_attend::offered | m_attend::pause)) == 0 && meet(m, thread)) {
    if (!m.in_runtime.load(acquire) &&  // acquire: for ThreadSanitizer, which does not know the barriers
        m.attention.compare_exchange(seen, m_attend::being_taken, acquire, relaxed)) {
      // The mark may have been cleared just before. Everything that m did before that, in whatever order it became
      // visible, is seen after this barrier. If m went into an announced call, attention says so.
      os::chaos_point("unannounced.takes");
      bool const is_met = meet(m, thread);
      bool const is_untouched = is_met && m.attention.load(acquire) == m_attend::being_taken;
      // An M whose goroutine has called exit() since the caller looked keeps its P. It is seen after the barrier.
      bool const exits = m.sched.end.exits_on(m);
      if (is_untouched && hint_of(m.p) == &p && hint_of(m.current) != nullptr && !exits) return true;
      // This clears only its own bit, because a `pause` may have come meanwhile. m waits until being_taken is cleared.
      m.attention.fetch_and(~m_attend::being_taken, release);
      return false;
    }
  }
  m.attention.fetch_and(~m_attend::offered, relaxed);
  return false;
}

// Returns the innermost return address on the sleeper's stack that lies in the program's own code. The frames between
// are the C library's, which cannot be walked from here. A word that only looks like such an address may be taken for
// one.
THRUM_NO_ASAN THRUM_NO_TSAN std::uintptr_t caller_in_program(G const& g, std::uintptr_t stack_pointer) noexcept {
  constexpr std::uintptr_t words_max = 512;
  constexpr std::uintptr_t without_signature = 0x0000'ffff'ffff'ffff;  // aarch64 may sign return addresses
  if (g.on == nullptr) return 0;                                       // a foreign thread
  auto const low = reinterpret_cast<std::uintptr_t>(g.on->low);
  auto const high = reinterpret_cast<std::uintptr_t>(g.on->top);
  if (stack_pointer < low || stack_pointer >= high || stack_pointer % sizeof(std::uintptr_t) != 0) return 0;
  auto const* word = reinterpret_cast<std::uintptr_t const volatile*>(stack_pointer);
  auto const* const end = reinterpret_cast<std::uintptr_t const volatile*>(high);
  for (std::uintptr_t i = 0; i < words_max && word < end; ++i, ++word) {
    std::uintptr_t const address = *word & without_signature;
    if (os::is_code_of_the_program(address)) return address;
  }
  return 0;
}

// A thread that waits for a lock of user code may wait for a goroutine that was paused while it held that lock (T05).
void hand_on(Sched& s, P& p, os::thread_state const& sleeper) noexcept {
  s.lock.acquire();
  M* const oldest =
      !s.end.has_begun() && !is_to_stop(p) && sleeper.waits_for_a_lock() ? take_oldest_locked(s) : nullptr;
  if (oldest == nullptr) return hand_off_locked(s, p);
  s.lock.release();
  give_p(*oldest, p);
}

}  // namespace

take_p_outcome take_p_of_sleeper(Sched& s, P& p, M& m, os::thread_state const& state,
                                 os::thread_watch& thread) noexcept {
  s.lock.acquire();
  // At the limit of threads the P stays where it is, unless it is only wanted for a moment.
  bool const p_can_be_used = !s.end.has_begun() && (p.attention.load(relaxed) != 0 || thread_is_available_locked(s));
  s.lock.release();
  if (!p_can_be_used) return take_p_outcome::no_thread;
  if (!win(m, p, thread)) return take_p_outcome::is_awake;
  G& g = *m.current;
  std::uintptr_t const caller = caller_in_program(g, state.stack_pointer);
  g.transition(g_status::running, g_status::syscall);
  trace::found_in_call(s, p, g, caller);
  static_cast<void>(release_p(m, trace::release_detail::taken_by_sysmon));
  THRUM_DCHECK(m.away_from.load(relaxed) == nullptr);
  os::chaos_point("unannounced.taken");
  p.m = nullptr;
  s.unannounced.p_is_taken();
  // release pairs with decide_p_owner and the signal handler: m's fields are as they should be
  m.attention.store(m_attend::away | m_attend::unannounced, release);
  s.unannounced.add_site(state.call, caller);
  hand_on(s, p, state);
  return take_p_outcome::done;
}

std::uint32_t decide_p_owner(M& m) noexcept {
  os::short_wait wait;
  for (;;) {
    std::uint32_t seen = m.attention.load(acquire);  // pairs with take_p_of_sleeper
    if ((seen & m_attend::being_taken) != 0) {
      wait.pause();
    } else if ((seen & m_attend::offered) == 0 ||
               m.attention.compare_exchange(seen, seen & ~m_attend::offered, acquire, relaxed)) {
      return seen & ~m_attend::offered;
    }
  }
}

}  // namespace thrum::rt
