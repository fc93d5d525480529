// The events of the scheduler, as calls at the places where they happen. docs/trace-format.md says what each record
// means.
//
// With tracing off, a call is one load and one branch. With it on, the record goes to the stream of the P that the
// calling M holds, or to a loose stream. No call waits, allocates, takes a lock or makes a system call. They are made
// inside the runtime, so no goroutine interrupts one. A signal handler of the program may interrupt one, so it records
// nothing while its M is inside the runtime (boot/trace_api.cpp). Under runtime_mark (core/current.h) no event is
// recorded either, because there the M must not use its P.
#pragma once

#include "core/sched.h"

#include <cstdint>
#include <string_view>

namespace thrum::rt::trace {

// The out-of-line part of each event. Called if is_on().
namespace note {
void created(M& m, G& g, trace::create_detail how) noexcept;
void about(M& m, G& g, kind what, std::uint8_t detail) noexcept;
void started_at_once(M& m, G& g, trace::start_detail how) noexcept;
void about(M& m, G& g, kind what, std::uint8_t detail, std::uintptr_t argument) noexcept;
void readied(Sched& s, G& g, trace::ready_detail where, std::uintptr_t site) noexcept;
void named(M& m, G& g, std::string_view name) noexcept;
void found_in_call(Sched& s, P& p, G& g, std::uintptr_t site) noexcept;
void of_m(M const& m, P* p, kind what, std::uint8_t detail) noexcept;
void of_p(P& p, kind what, std::uint64_t a, std::uint64_t b) noexcept;
void of_world(Sched& s, kind what) noexcept;
void of_run(Sched& s, kind what, std::uint64_t argument) noexcept;
}  // namespace note

// --- goroutines: called by the owner of g, which runs on m ---

inline void created(M& m, G& g, trace::create_detail how) noexcept {
  if (m.sched.trace.is_on()) [[unlikely]]
    note::created(m, g, how);
}
inline void started(M& m, G& g, trace::start_detail how) noexcept {
  if (m.sched.trace.is_on()) [[unlikely]]
    note::about(m, g, kind::start, static_cast<std::uint8_t>(how));
}
// The same just after another goroutine has left m's P.
inline void started_at_once(M& m, G& g, trace::start_detail how) noexcept {
  if (m.sched.trace.is_on()) [[unlikely]]
    note::started_at_once(m, g, how);
}
inline void stopped(M& m, G& g, wait_reason why, std::uintptr_t object) noexcept {
  if (m.sched.trace.is_on()) [[unlikely]]
    note::about(m, g, kind::stop, static_cast<std::uint8_t>(why), object);
}
inline void yields(M& m, G& g, trace::yield_detail how) noexcept {
  if (m.sched.trace.is_on()) [[unlikely]]
    note::about(m, g, kind::yield, static_cast<std::uint8_t>(how));
}
inline void ends(M& m, G& g, trace::end_detail how) noexcept {
  if (m.sched.trace.is_on()) [[unlikely]]
    note::about(m, g, kind::end, static_cast<std::uint8_t>(how));
}
inline void calls(M& m, G& g, trace::call_detail how, std::uintptr_t site) noexcept {
  if (m.sched.trace.is_on()) [[unlikely]]
    note::about(m, g, kind::call, static_cast<std::uint8_t>(how), site);
}
inline void comes_back(M& m, G& g, trace::return_detail how) noexcept {
  if (m.sched.trace.is_on()) [[unlikely]]
    note::about(m, g, kind::comes_back, static_cast<std::uint8_t>(how));
}
inline void hosts(M& m, G& host, G const& child) noexcept {
  if (m.sched.trace.is_on()) [[unlikely]]
    note::about(m, host, kind::host, 0, child.id);
}
inline void has_hosted(M& m, G& host) noexcept {
  if (m.sched.trace.is_on()) [[unlikely]]
    note::about(m, host, kind::hosted, 0);
}
// g is about to stop for a lock, which the goroutine `holder` holds.
inline void finds_held(M& m, G& g, std::uint64_t holder) noexcept {
  if (m.sched.trace.is_on()) [[unlikely]]
    note::about(m, g, kind::holder, 0, holder);
}
inline void is_named(M& m, G& g, std::string_view name) noexcept {
  if (m.sched.trace.is_on()) [[unlikely]]
    note::named(m, g, name);
}
// Called by the waker, on any thread. `site` is the place in its code: see site_of_caller.
inline void readied(Sched& s, G& g, trace::ready_detail where, std::uintptr_t site = 0) noexcept {
  if (s.trace.is_on()) [[unlikely]]
    note::readied(s, g, where, site);
}
// sysmon takes p from an M whose goroutine g sleeps in a call that was not announced.
inline void found_in_call(Sched& s, P& p, G& g, std::uintptr_t site) noexcept {
  if (s.trace.is_on()) [[unlikely]]
    note::found_in_call(s, p, g, site);
}

// --- Ps and Ms ---

inline void spins(M& m) noexcept {
  if (m.sched.trace.is_on()) [[unlikely]]
    note::of_m(m, m.p, kind::spin, 0);
}
inline void has_spun(M& m, trace::spin_detail how) noexcept {
  if (m.sched.trace.is_on()) [[unlikely]]
    note::of_m(m, m.p, kind::spun, static_cast<std::uint8_t>(how));
}
inline void preempts(M& m) noexcept {
  if (m.sched.trace.is_on()) [[unlikely]]
    note::of_m(m, nullptr, kind::preempt, 0);
}
inline void steals(P& thief, P const& victim, std::uint32_t number) noexcept {
  if (thief.sched.trace.is_on()) [[unlikely]]
    note::of_p(thief, kind::steal, static_cast<std::uint64_t>(victim.id), number);
}

// A step of a stop of the world, on any thread.
inline void world_changes(Sched& s, kind what) noexcept {
  if (s.trace.is_on()) [[unlikely]]
    note::of_world(s, what);
}
// Events that have one number, on any thread.
inline void happened(Sched& s, kind what, std::uint64_t number) noexcept {
  if (s.trace.is_on()) [[unlikely]]
    note::of_run(s, what, number);
}

// A place where an observer may hold the calling thread.
inline void pass(Sched const& s, gate where) noexcept {
  if (s.trace.is_observed()) [[unlikely]]
    s.trace.wait_at_gate(where);
}

// Called by each function that changes the length of the global queue, under sched.lock.
inline void global_queue_changed(Sched& s) noexcept { happened(s, kind::global, s.global_queue.size()); }

}  // namespace thrum::rt::trace
