#include "core/status.h"

#include "base/check.h"

#include <iterator>

namespace thrum::rt {
namespace {

template <class... S>
constexpr std::uint32_t bits(S... statuses) {
  return (... | (1U << static_cast<std::uint32_t>(statuses)));
}

// Each row is a state; its bits are the states that may follow.
using g = g_status;
constexpr std::uint32_t g_edges[] = {
    /* idle      */ bits(g::dead),
    /* dead      */ bits(g::unstarted),
    /* unstarted */ bits(g::running, g::waiting),  // waiting: for stack memory
    /* runnable  */ bits(g::running),
    /* running   */ bits(g::runnable, g::waiting, g::syscall, g::dead, g::hosting),
    /* waiting   */ bits(g::runnable),
    /* syscall   */ bits(g::running, g::runnable),
    /* hosting   */ bits(g::running),
};

using p = p_status;
constexpr std::uint32_t p_edges[] = {
    /* stopped */ bits(p::idle, p::running, p::dead),
    /* idle    */ bits(p::running, p::stopped),
    /* running */ bits(p::idle, p::syscall, p::stopped),
    /* syscall */ bits(p::running, p::idle, p::stopped),
    /* dead    */ bits(p::stopped),
};

using m = m_status;
constexpr std::uint32_t m_edges[] = {
    // awake: M0, and the Ms of foreign threads
    /* threadless         */ bits(m::starting, m::starting_without_p, m::awake),
    /* starting           */ bits(m::awake, m::starting_without_p),
    // threadless: the thread could not be made
    /* starting_without_p */ bits(m::awake, m::starting, m::threadless),
    // resuming: its goroutine was readied before the thread came to sleep, or it has just been taken from rest and out
    // of the global queue, to get a P for its residents; dismissed: it was taken from rest, or comes to rest after the
    // end of the run; threadless: a foreign thread has ended
    /* awake              */
    bits(m::idle, m::timekeeper, m::in_place, m::queued, m::paused, m::paused_in_libc, m::resuming, m::waits_for_end,
         m::dismissed, m::let_go, m::threadless),
    /* idle               */ bits(m::awake, m::let_go),
    /* timekeeper         */ bits(m::awake, m::roused, m::idle),
    /* roused             */ bits(m::awake),
    /* in_place           */ bits(m::awake, m::resuming, m::dismissed),
    /* queued             */ bits(m::resuming, m::dismissed),
    /* paused             */ bits(m::resuming, m::dismissed),
    /* paused_in_libc     */ bits(m::resuming, m::dismissed),
    /* resuming           */ bits(m::awake),
    /* waits_for_end      */ 0,
    /* dismissed          */ bits(m::waits_for_end),  // M0, whose goroutine the run has left behind
    /* let_go             */ bits(m::threadless),
};
static_assert(std::size(m_edges) == m_statuses);

}  // namespace

bool is_legal(m_status from, m_status to) noexcept {
  return (m_edges[static_cast<std::uint32_t>(from)] & bits(to)) != 0;
}
bool is_legal(g_status from, g_status to) noexcept {
  return (g_edges[static_cast<std::uint32_t>(from)] & bits(to)) != 0;
}
bool is_legal(p_status from, p_status to) noexcept {
  return (p_edges[static_cast<std::uint32_t>(from)] & bits(to)) != 0;
}

void illegal_transition(char const* what, std::uint64_t id, char const* actual, char const* from,
                        char const* to) noexcept {
  fatal("internal error: %s %llu cannot go from %s to %s: it is %s", what, static_cast<unsigned long long>(id), from,
        to, actual);
}

}  // namespace thrum::rt
