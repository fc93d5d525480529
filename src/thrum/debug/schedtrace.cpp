#include "debug/schedtrace.h"

#include "debug/known_wait.h"
#include "debug/ms_of_gs.h"
#include "os/clock.h"
#include "os/lock.h"
#include "stack/stack.h"

#include <cstdint>
#include <cstdio>

namespace thrum::rt {
namespace {

constexpr std::size_t bytes_per_line = 320;

// The number of a G, an M or a P as Go writes it: "nil" if there is none.
struct number_text {
  explicit number_text(G const* g) noexcept : number_text(g == nullptr ? -1 : static_cast<long long>(hint_of(g->id))) {}
  explicit number_text(P const* p) noexcept : number_text(p == nullptr ? -1 : p->id) {}
  explicit number_text(M const* m) noexcept : number_text(m == nullptr ? -1 : m->id) {}

  char text[24];

 private:
  explicit number_text(long long number) noexcept {
    if (number < 0) {
      std::snprintf(text, sizeof text, "nil");
    } else {
      std::snprintf(text, sizeof text, "%lld", number);
    }
  }
};
char const* yes_or_no(bool it_is) noexcept { return it_is ? "true" : "false"; }

// Go's constants for the same states (its runtime2.go). Go has no hosting goroutines; such a goroutine waits for the
// one it hosts.
int go_number_of(g_status status) noexcept {
  switch (status) {
    case g_status::idle: return 0;
    case g_status::unstarted:
    case g_status::runnable: return 1;
    case g_status::running: return 2;
    case g_status::syscall: return 3;
    case g_status::waiting:
    case g_status::hosting: return 4;
    case g_status::dead: return 6;
  }
  return -1;
}
// Go used 2 for p_status::syscall; Go 1.27 has no such state, and no other state has that number.
int go_number_of(p_status status) noexcept {
  switch (status) {
    case p_status::idle: return 0;
    case p_status::running: return 1;
    case p_status::syscall: return 2;
    case p_status::stopped: return 3;
    case p_status::dead: return 4;
  }
  return -1;
}
char const* reason_of(G const& g, g_status status) noexcept {
  if (status == g_status::hosting) return name_of(wait_reason::join);
  return status == g_status::waiting ? name_of(hint_of(g.waits_for)) : "";
}

// Under sched.lock.
void add_summary(report_text& out, Sched& s, std::int64_t since_start_ns) noexcept {
  out.add(
      "SCHED %lldms: gomaxprocs=%d idleprocs=%d threads=%d spinningthreads=%d needspinning=0 idlethreads=%d "
      "runqueue=%u",
      static_cast<long long>(since_start_ns / 1'000'000), s.procs.size(), s.idle.count(), s.ms.total() + s.own_threads,
      s.idle.spinning(), s.ms.without_work(), s.global_queue.size());
}

// Called under sched.lock. The Ps that are left to stop are known only while the world is being stopped.
void add_rest_of_summary(report_text& out, Sched const& s) noexcept {
  bool const stops = s.world.is_under_way();
  out.add(" gcwaiting=%s nmidlelocked=%d stopwait=%d sysmonwait=%s stopping=%s\n", yes_or_no(stops),
          s.ms.count(m_status::in_place), stops ? s.world.procs_left() : 0, yes_or_no(s.sysmon.is_in_deep_sleep()),
          yes_or_no(s.end.has_begun()));
}

void add_line_of_ps(report_text& out, Sched const& s) noexcept {
  out.add(" [");
  for (auto const& p : s.procs) out.add(" %u", p->queue.size());
  out.add(" ] schedticks=[");
  for (auto const& p : s.procs) out.add(" %u", p->schedtick.load(relaxed));
  out.add(" ]\n");
}

// From here on: Go's fields, in Go's order, and then thrum's own.

void add_ps(report_text& out, Sched const& s) noexcept {
  for (auto const& p : s.procs) {
    out.add("  P%d: status=%d schedtick=%u syscalltick=%llu m=%s runqsize=%u gfreecnt=%u timerslen=%u", p->id,
            go_number_of(p->status.load(relaxed)), p->schedtick.load(relaxed),
            static_cast<unsigned long long>(p->counters.syscalls.load(relaxed)), number_text(hint_of(p->m)).text,
            p->queue.size(), hint_of(p->free_g_count), p->timers.count().entries);
    out.add(" runnext=%s sudogs=%u seentick=%u seensyscall=%llu\n", number_text(p->queue.peek_next().g()).text,
            p->sudogs.size_hint(), hint_of(p->seen.slice.tick),
            static_cast<unsigned long long>(hint_of(p->seen.syscall)));
  }
}

// Called under sched.lock. An M inside the runtime is shown as one that holds a lock in Go, because it is not
// preempted.
void add_ms(report_text& out, ms_of_gs& ms_by_g, Sched const& s) noexcept {
  for (M const& m : s.ms.all()) {
    G const* const runs = hint_of(m.current);
    ms_by_g.note(runs, m);
    bool const is_locked = runs != nullptr && hint_of(runs->detour.is_locked);
    out.add("  M%d: p=%s curg=%s mallocing=0 throwing=0 preemptoff= locks=%d dying=0 spinning=%s blocked=%s lockedg=%s",
            m.id, number_text(hint_of(m.p)).text, number_text(runs).text, m.in_runtime.load(relaxed) ? 1 : 0,
            yes_or_no(hint_of(m.spinning)), yes_or_no(m.wake_note.is_slept_on()),
            number_text(is_locked ? runs : nullptr).text);
    out.add(" nextp=%s sigstack=%p\n", number_text(hint_of(m.next_p)).text,
            static_cast<void const*>(hint_of(m.signal_stack.low)));
  }
}

// The stack pointer is known only of a goroutine that has left its stack. Stacks stay mapped as long as the run lives.
void add_stack(report_text& out, G const& g, bool has_left) noexcept {
  stack const* const on = hint_of(g.on);
  if (on == nullptr) return out.add(" stack=nil");
  out.add(" stack=[%p,%p)", static_cast<void const*>(hint_of(on->low)), static_cast<void const*>(hint_of(on->top)));
  if (has_left) out.add(" sp=%p pc=%p", hint_of(g.saved.sp), hint_of(g.saved.pc));
}

// The time that it has waited, in milliseconds, if it is known: exactly for a goroutine that waits for a mutex, and a
// lower bound for others.
void add_age(report_text& out, G const& g, std::int64_t now_ns) noexcept {
  if (auto const ns = known_wait_ns(g, hint_of(g.waits_for), now_ns))
    out.add(" waits=%lldms", static_cast<long long>(*ns / 1'000'000));
}

// Unused records are left out.
void add_gs(report_text& out, ms_of_gs const& ms_by_g, Sched& s) noexcept {
  std::int64_t const now_ns = os::monotonic_ns();
  s.records.for_each_g([&](G& g) {
    auto const status = g.status.load(relaxed);
    if (status == g_status::idle || status == g_status::dead) return;
    bool const waits = status == g_status::waiting;
    out.add("  G%s: status=%d(%s) m=%s lockedm=%s", number_text(&g).text, go_number_of(status), reason_of(g, status),
            number_text(ms_by_g.m_of(g)).text, number_text(hint_of(g.only_m)).text);
    add_stack(out, g, waits || status == g_status::runnable);
    out.add(" entry=%p creator=%llu createdat=%p", reinterpret_cast<void*>(hint_of(g.task.step)),
            static_cast<unsigned long long>(hint_of(g.task.created_by)), hint_of(g.task.created_at));
    if (waits) add_age(out, g, now_ns);
    out.add("\n");
  });
}

// Includes a margin for Ms that are made meanwhile.
std::size_t ms_at_most(Sched& s) noexcept {
  os::lock_guard const guard(s.lock);
  return static_cast<std::size_t>(s.ms.made()) + 16;
}
std::size_t room_for(Sched const& s, std::size_t ms) noexcept {
  return (s.procs.size() + ms + s.records.gs_made()) * bytes_per_line;
}

void print_in_detail(Sched& s, std::int64_t since_start_ns, report_text& out) noexcept {
  std::size_t const ms = ms_at_most(s);
  ms_of_gs ms_by_g(ms);
  out.begin(room_for(s, ms));
  {
    os::lock_guard const guard(s.lock);
    add_summary(out, s, since_start_ns);
    add_rest_of_summary(out, s);
  }
  add_ps(out, s);
  {
    os::lock_guard const guard(s.lock);
    add_ms(out, ms_by_g, s);
  }
  ms_by_g.sort();
  add_gs(out, ms_by_g, s);
  out.send();
}

}  // namespace

void print_schedtrace(Sched& s, std::int64_t since_start_ns, report_text& out) noexcept {
  if (s.options.scheddetail) return print_in_detail(s, since_start_ns, out);
  out.begin(s.procs.size() * 32 + bytes_per_line);
  {
    os::lock_guard const guard(s.lock);
    add_summary(out, s, since_start_ns);
  }
  add_line_of_ps(out, s);
  out.send();
}

}  // namespace thrum::rt
