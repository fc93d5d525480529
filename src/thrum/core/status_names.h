// The names of the states, as reports, traces and the debugger show them. name_of (core/status.h) is the same at run
// time.
#pragma once

#include "core/status.h"

namespace thrum::rt {

[[nodiscard]] constexpr char const* text_of(g_status status) noexcept {
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

[[nodiscard]] constexpr char const* text_of(p_status status) noexcept {
  switch (status) {
    case p_status::stopped: return "stopped";
    case p_status::idle: return "idle";
    case p_status::running: return "running";
    case p_status::syscall: return "syscall";
    case p_status::dead: return "dead";
  }
  return "?";
}

[[nodiscard]] constexpr char const* text_of(m_status status) noexcept {
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

[[nodiscard]] constexpr char const* text_of(wait_reason reason) noexcept {
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

}  // namespace thrum::rt
