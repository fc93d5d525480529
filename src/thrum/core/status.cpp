#include "core/status.h"

#include "base/check.h"

#include <iterator>

namespace thrum::rt {
namespace {

template <class... S>
constexpr std::uint32_t bits(S... statuses) {
  return (... | (1U << static_cast<std::uint32_t>(statuses)));
}
template <class S>
constexpr std::uint32_t bit(S status) {
  return bits(status);
}

// Each row is a state; its bits are the states that may follow.
constexpr std::uint32_t g_edges[] = {
    /* idle      */ bit(g_status::dead),
    /* dead      */ bit(g_status::unstarted),
    /* unstarted */ bit(g_status::running) | bit(g_status::waiting),  // waiting: for stack memory
    /* runnable  */ bit(g_status::running),
    /* running   */ bit(g_status::runnable) | bit(g_status::waiting) | bit(g_status::syscall) | bit(g_status::dead) |
        bit(g_status::hosting),
    /* waiting   */ bit(g_status::runnable),
    /* syscall   */ bit(g_status::running) | bit(g_status::runnable),
    /* hosting   */ bit(g_status::running),
};

constexpr std::uint32_t p_edges[] = {
    /* stopped */ bit(p_status::idle) | bit(p_status::running) | bit(p_status::dead),
    /* idle    */ bit(p_status::running) | bit(p_status::stopped),
    /* running */ bit(p_status::idle) | bit(p_status::syscall) | bit(p_status::stopped),
    /* syscall */ bit(p_status::running) | bit(p_status::idle) | bit(p_status::stopped),
    /* dead    */ bit(p_status::stopped),
};

using m = m_status;
constexpr std::uint32_t m_edges[] = {
    // awake: M0, and the Ms of foreign threads
    /* threadless         */ bits(m::starting, m::starting_without_p, m::awake),
    /* starting           */ bits(m::awake, m::starting_without_p),
    // threadless: the thread could not be made
    /* starting_without_p */ bits(m::awake, m::starting, m::threadless),
    // resuming: its goroutine was readied before the thread came to sleep, or it has just been taken from rest and
    // out of the global queue, to get a P for its residents; dismissed: it was taken from rest, or comes to rest after
    // the end of the run; threadless: a foreign thread has ended
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
  return (m_edges[static_cast<std::uint32_t>(from)] & bit(to)) != 0;
}
bool is_legal(g_status from, g_status to) noexcept {
  return (g_edges[static_cast<std::uint32_t>(from)] & bit(to)) != 0;
}
bool is_legal(p_status from, p_status to) noexcept {
  return (p_edges[static_cast<std::uint32_t>(from)] & bit(to)) != 0;
}

char const* name_of(g_status status) noexcept {
  switch (status) {
    case g_status::idle: return "idle";
    case g_status::dead: return "dead";
    case g_status::unstarted: return "runnable (not started)";
    case g_status::runnable: return "runnable";
    case g_status::running: return "running";
    case g_status::waiting: return "waiting";
    case g_status::syscall: return "syscall";
    case g_status::hosting: return "hosting";
  }
  return "?";
}

char const* name_of(p_status status) noexcept {
  switch (status) {
    case p_status::stopped: return "stopped";
    case p_status::idle: return "idle";
    case p_status::running: return "running";
    case p_status::syscall: return "syscall";
    case p_status::dead: return "dead";
  }
  return "?";
}

char const* name_of(m_status status) noexcept {
  switch (status) {
    case m_status::threadless: return "threadless";
    case m_status::starting: return "starting";
    case m_status::starting_without_p: return "starting without P";
    case m_status::awake: return "awake";
    case m_status::idle: return "idle";
    case m_status::timekeeper: return "timekeeper";
    case m_status::roused: return "roused";
    case m_status::in_place: return "in place";
    case m_status::queued: return "queued";
    case m_status::paused: return "paused";
    case m_status::paused_in_libc: return "paused in libc";
    case m_status::resuming: return "resuming";
    case m_status::waits_for_end: return "waits for end";
    case m_status::dismissed: return "dismissed";
    case m_status::let_go: return "let go";
  }
  return "?";
}

char const* name_of(wait_reason reason) noexcept {
  switch (reason) {
    case wait_reason::none: return "nothing";
    case wait_reason::semaphore: return "semaphore";
    case wait_reason::mutex: return "mutex";
    case wait_reason::wait_group: return "wait group";
    case wait_reason::once: return "once";
    case wait_reason::join: return "join";
    case wait_reason::stack_memory: return "stack memory";
    case wait_reason::sleep: return "sleep";
    case wait_reason::chan_send: return "chan send";
    case wait_reason::chan_receive: return "chan receive";
    case wait_reason::send_on_nil: return "chan send (nil chan)";
    case wait_reason::receive_on_nil: return "chan receive (nil chan)";
    case wait_reason::select: return "select";
    case wait_reason::empty_select: return "select (no cases)";
    case wait_reason::read_lock: return "shared mutex (read)";
    case wait_reason::write_lock: return "shared mutex (write)";
    case wait_reason::condition_variable: return "condition variable";
    case wait_reason::latch: return "latch";
    case wait_reason::barrier: return "barrier";
    case wait_reason::io: return "IO wait";
  }
  return "?";
}

void illegal_transition(char const* what, std::uint64_t id, char const* actual, char const* from,
                        char const* to) noexcept {
  fatal("internal error: %s %llu cannot go from %s to %s: it is %s", what, static_cast<unsigned long long>(id), from,
        to, actual);
}

}  // namespace thrum::rt
