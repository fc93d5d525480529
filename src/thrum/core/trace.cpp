#include "core/trace.h"

#include "core/current.h"
#include "os/short_wait.h"

namespace thrum::rt::trace {
namespace {

std::uint8_t next_number(G& g) noexcept { return g.trace_records++; }

// The P whose stream the calling thread may write. nullptr: it has none.
P* callers_p(Sched const& s) noexcept {
  M const* const m = current_m();
  return m != nullptr && &m->sched == &s && m->in_runtime.load(relaxed) ? m->p : nullptr;
}

[[gnu::cold, gnu::noinline]] void write_loosely(trace_state& events, std::uint64_t first, std::uint64_t a = 0,
                                                std::uint64_t b = 0, std::uint64_t c = 0) noexcept {
  events.with_loose_stream([&](stream& its) { its.write_slowly(events.chunks, first, a, b, c); });
}

// Tells the observer, if there is one. Returns whether the event is also written to a trace.
template <class... Args>
[[gnu::always_inline]] inline bool is_to_be_written(Sched const& s, P const* p, kind what, std::uint8_t detail,
                                                    Args... args) noexcept {
  if (!s.trace.is_observed()) [[likely]]
    return true;
  s.trace.tell_observer({what, detail, p, {static_cast<std::uint64_t>(args)...}});
  return s.trace.is_written();
}

// Writes to the stream of p, which the caller holds, or to a loose stream if it is nullptr.
template <class... Args>
[[gnu::always_inline]] inline void write(Sched& s, P* p, kind what, std::uint8_t number, std::uint8_t detail,
                                         Args... args) noexcept {
  if (!is_to_be_written(s, p, what, detail, args...)) return;
  std::uint64_t const first = head::of(what, 1 + sizeof...(Args), number, detail, 0);
  if (p != nullptr) [[likely]] {
    p->trace.write(s.trace.chunks, first, args...);
  } else {
    write_loosely(s.trace, first, args...);
  }
}

std::uint64_t number_of(M const& m) noexcept { return static_cast<std::uint64_t>(m.id); }

}  // namespace

void trace_state::close_loose_streams() noexcept {
  for (loose& l : loose_) {
    os::short_wait wait;
    while (l.is_used.exchange(true, acquire)) wait.pause();  // pairs with the releases: its thread has written
  }
  for (loose& l : loose_) l.its.close(chunks);
  for (loose& l : loose_) l.is_used.store(false, release);
}

namespace note {

void created(M& m, G& g, trace::create_detail how) noexcept {
  g.trace_records = 0;
  write(m.sched, m.p, kind::create, next_number(g), static_cast<std::uint8_t>(how), g.id,
        reinterpret_cast<std::uintptr_t>(g.task.created_at), m.is_foreign ? 0 : g.task.created_by);
}

void about(M& m, G& g, kind what, std::uint8_t detail) noexcept {
  write(m.sched, m.p, what, next_number(g), detail, g.id);
}

void started_at_once(M& m, G& g, trace::start_detail how) noexcept {
  if (!is_to_be_written(m.sched, m.p, kind::start, static_cast<std::uint8_t>(how), g.id)) return;
  std::uint64_t const first = head::of(kind::start, 2, next_number(g), static_cast<std::uint8_t>(how), 0);
  m.p->trace.write_at_once(m.sched.trace.chunks, first, g.id);
}

void about(M& m, G& g, kind what, std::uint8_t detail, std::uintptr_t argument) noexcept {
  write(m.sched, m.p, what, next_number(g), detail, g.id, argument);
}

void named(M& m, G& g, std::string_view name) noexcept {
  if (!is_to_be_written(m.sched, m.p, kind::name, 0, g.id)) return;
  m.p->trace.write_text(m.sched.trace.chunks, kind::name, next_number(g), 0, g.id, nullptr, name);
}

void readied(Sched& s, G& g, trace::ready_detail where, std::uintptr_t site) noexcept {
  M const* const m = current_m();
  G const* const waker = m != nullptr && &m->sched == &s && !m->is_foreign ? m->current : nullptr;
  write(s, callers_p(s), kind::ready, next_number(g), static_cast<std::uint8_t>(where), g.id,
        waker != nullptr ? waker->id : 0, site);
}

void found_in_call(Sched& s, P& p, G& g, std::uintptr_t site) noexcept {
  write(s, &p, kind::call, next_number(g), static_cast<std::uint8_t>(call_detail::unannounced), g.id, site);
}

void m_changed(M& m) noexcept {
  if (!m.sched.trace.is_on()) return;
  write(m.sched, callers_p(m.sched), kind::m, m.trace_records++, static_cast<std::uint8_t>(m.status.value()),
        number_of(m), static_cast<std::uint64_t>(hint_of(m.tid)));
}

void of_m(M const& m, P* p, kind what, std::uint8_t detail) noexcept {
  write(m.sched, p, what, 0, detail, number_of(m));
}

void p_taken(M const& m, P& p) noexcept { of_m(m, &p, kind::take, 0); }

void p_released(M const& m, P& p, release_detail why) noexcept {
  of_m(m, &p, kind::release, static_cast<std::uint8_t>(why));
}

void of_p(P& p, kind what, std::uint64_t a, std::uint64_t b) noexcept { write(p.sched, &p, what, 0, 0, a, b); }

void of_world(Sched& s, kind what) noexcept { write(s, callers_p(s), what, 0, 0); }

void of_run(Sched& s, kind what, std::uint64_t argument) noexcept { write(s, callers_p(s), what, 0, 0, argument); }

}  // namespace note
}  // namespace thrum::rt::trace
