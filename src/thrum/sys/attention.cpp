#include "sys/attention.h"

#include "core/current.h"
#include "core/trace.h"
#include "sys/blocking.h"
#include "sys/foreign.h"
#include "sys/preempt.h"
#include "sys/unannounced.h"

namespace thrum::rt {

namespace {

// m is back from the call only to use the runtime. If the call was not announced, m stays.
void came_back_from(M& m, std::uint32_t attention) noexcept {
  if ((attention & m_attend::unannounced) != 0) {
    m.sched.unannounced.p_is_back();
  } else {
    m.attention.store(m_attend::visits, relaxed);
    if (m.current != nullptr) m.current->is_call_timed = false;  // a wait inside the call has another use for the time
  }
}

// A goroutine that was paused, or that waited for its turn, when the run ended goes on in its frames. It still counts as
// runnable, although no thread will give it a P. From here on it is in a call, like any goroutine without a P.
void is_in_a_call_if_runnable(M& m) noexcept {
  G& g = *m.current;
  if (g.status.load(relaxed) != g_status::runnable) return;
  g.transition(g_status::runnable, g_status::running);
  trace::started(m, g, trace::start_detail::on_own_thread);
  g.transition(g_status::running, g_status::syscall);
  trace::calls(m, g, trace::call_detail::short_call, 0);
}

}  // namespace

bool entered_if_alive(M& m) noexcept {
  std::uint32_t const seen = decide_p_owner(m);
  if ((seen & m_attend::pause) != 0) look_at_mask(m);
  if ((seen & m_attend::away) == 0) return true;
  if (m.is_foreign) {
    if (!comes_in_from_outside(m)) return false;
    if ((seen & m_attend::unannounced) != 0) m.sched.unannounced.p_is_back();
    return true;
  }
  come_back_on_this_thread(m);
  came_back_from(m, seen);
  return true;
}

void entered_with_attention(M& m) noexcept {
  if (!entered_if_alive(m)) sleep_outside(m);
}

void entered_to_exit(M& m) noexcept {
  std::uint32_t const seen = decide_p_owner(m);
  if ((seen & m_attend::away) == 0) return;
  is_in_a_call_if_runnable(m);
  if (comes_back_on_this_thread(m)) return came_back_from(m, seen);
  // The run has ended meanwhile. The goroutine is in its call as before.
  if (!m.current->keeps_its_m()) m.current->only_m = nullptr;
  is_in_a_call_if_runnable(m);
}

// The mark is clear. The P cannot be taken as long as `visits` is set (sys/unannounced.h), so the mark is set before
// `visits` is cleared. Otherwise sysmon could take the P in between, if a signal handler of the program slept there;
// and if the run ended meanwhile, a foreign thread would never return from a call that it has completed.
void left_with_attention(M& m) noexcept {
  std::uint32_t const seen = m.attention.load(relaxed);
  if ((seen & m_attend::pause) != 0) {
    // An M that has no P, or is about to lose it, need not pause. It has set the mark without entering the runtime
    // (runtime_mark), and would have to wait for a P to be paused. A foreign thread gives its P up in a moment. It must
    // not be paused, because if the run ended meanwhile, it would stay in the pause.
    constexpr std::uint32_t without_p = m_attend::away | m_attend::being_taken;
    if ((seen & without_p) != 0) {
      m.attention.fetch_and(~m_attend::pause, relaxed);
    } else if (!m.is_foreign) {
      pause_if_still_asked(m);
    }
  }
  if ((seen & m_attend::visits) == 0) return;
  if (m.current == nullptr || m.current->blocking_depth == 0) {  // the visit was another goroutine's
    m.attention.fetch_and(~m_attend::visits, relaxed);
    return;
  }
  enter_runtime(m);
  m.attention.fetch_and(~m_attend::visits, relaxed);
  m.call_site = 0;  // the call site may belong to another M's call
  if (m.is_foreign) {
    go_outside(m);
  } else {
    go_away(m, blocking_hint::may_be_short);
  }
}

}  // namespace thrum::rt
