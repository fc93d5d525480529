#include "debug/schedtrace.h"

#include "base/check.h"
#include "os/clock.h"
#include "os/lock.h"
#include "os/memory.h"
#include "stack/stack.h"

#include <cstdarg>
#include <cstdint>
#include <cstdio>

namespace thrum::rt {
namespace {

// Text in memory of its own: whole lines. What does not fit is left out, and so is all that follows.
class page_text {
 public:
  explicit page_text(std::size_t bytes) noexcept : bytes_(bytes), text_(os::map(bytes).address) {}
  ~page_text() {
    if (text_ != nullptr) os::unmap(text_, bytes_);
  }
  page_text(page_text const&) = delete;
  page_text& operator=(page_text const&) = delete;

  void add(char const* format, ...) noexcept __attribute__((format(printf, 2, 3))) {
    if (text_ == nullptr || is_full_) return;
    std::size_t const room = bytes_ - used_;
    std::va_list arguments;
    va_start(arguments, format);
    int const length = std::vsnprintf(text_ + used_, room, format, arguments);
    va_end(arguments);
    is_full_ = length < 0 || static_cast<std::size_t>(length) >= room;
    if (!is_full_) used_ += static_cast<std::size_t>(length);
  }
  void write() noexcept {
    if (text_ == nullptr) return;
    while (is_full_ && used_ > 0 && text_[used_ - 1] != '\n') --used_;
    write_to_stderr(text_, used_);
  }

 private:
  std::size_t const bytes_;
  char* const text_;
  std::size_t used_ = 0;
  bool is_full_ = false;
};

constexpr std::size_t bytes_per_line = 320;

long long id_of(G const* g) noexcept { return g == nullptr ? -1 : static_cast<long long>(hint_of(g->id)); }
int id_of(P const* p) noexcept { return p == nullptr ? -1 : p->id; }
int id_of(M const* m) noexcept { return m == nullptr ? -1 : m->id; }
char const* yes_or_no(bool it_is) noexcept { return it_is ? "true" : "false"; }

// Under sched.lock.
void add_summary(page_text& out, Sched& s, std::int64_t since_start_ns) noexcept {
  out.add(
      "SCHED %lldms: gomaxprocs=%d idleprocs=%d threads=%d spinningthreads=%d needspinning=0 idlethreads=%d runqueue=%u",
      static_cast<long long>(since_start_ns / 1'000'000), s.procs.size(), s.idle_procs.load(relaxed),
      s.ms_total + s.own_threads, s.spinning.load(relaxed), s.ms_resting(), s.global_queue.size());
}

void add_line_of_ps(page_text& out, Sched const& s) noexcept {
  out.add(" [");
  for (auto const& p : s.procs) out.add(" %u", p->queue.waiting());
  out.add(" ] schedticks=[");
  for (auto const& p : s.procs) out.add(" %u", p->schedtick.load(relaxed));
  out.add(" ]\n");
}

void add_ps(page_text& out, Sched const& s) noexcept {
  for (auto const& p : s.procs) {
    out.add("  P%d: status=%s schedtick=%u syscalltick=%llu m=%d runqsize=%u gfreecnt=%u timerslen=%u", p->id,
            name_of(p->status.load(relaxed)), p->schedtick.load(relaxed),
            static_cast<unsigned long long>(p->counters.syscalls.load(relaxed)), id_of(hint_of(p->m)),
            p->queue.waiting(), hint_of(p->free_g_count), p->timers.count().entries);
    out.add(" runnext=%lld sudogs=%u seentick=%u seensyscall=%llu\n", id_of(p->queue.peek_next().g()),
            p->sudogs.size_hint(), hint_of(p->seen.slice.tick),
            static_cast<unsigned long long>(hint_of(p->seen.syscall)));
  }
}

void add_ms(page_text& out, Sched const& s) noexcept {
  for (M const* m = s.all_ms; m != nullptr; m = m->all_link) {
    G const* const runs = hint_of(m->current);
    bool const is_locked = runs != nullptr && hint_of(runs->detour.is_locked);
    out.add("  M%d: p=%d curg=%lld inruntime=%s spinning=%s", m->id, id_of(hint_of(m->p)), id_of(runs),
            yes_or_no(m->in_runtime.load(relaxed)), yes_or_no(hint_of(m->spinning)));
    out.add(" nextp=%d lockedg=%lld parked=%s sigstack=%p\n", id_of(hint_of(m->next_p)), is_locked ? id_of(runs) : -1,
            yes_or_no(m->park.is_slept_on()), static_cast<void const*>(hint_of(m->signal_stack)));
  }
}

// Where it stands is known of one that has left its stack. Stacks stay mapped as long as the run lives.
void add_stack(page_text& out, G const& g, bool has_left) noexcept {
  stack const* const on = hint_of(g.on);
  if (on == nullptr) return out.add(" stack=none");
  out.add(" stack=[%p,%p)", static_cast<void const*>(hint_of(on->low)), static_cast<void const*>(hint_of(on->top)));
  if (has_left) out.add(" sp=%p pc=%p", hint_of(g.saved.sp), hint_of(g.saved.pc));
}

// In milliseconds, as far as it is known: exactly of those that wait for a mutex, of others at least.
void add_age(page_text& out, G const& g, std::int64_t now_ns) noexcept {
  bool const is_known = hint_of(g.waits_for) == wait_reason::mutex || (g.attention.load(relaxed) & g_attend::aged) != 0;
  if (is_known) out.add(" waits=%lldms", static_cast<long long>((now_ns - g.waits_since_ns.load(relaxed)) / 1'000'000));
}

// Under free_lock.
void add_gs(page_text& out, Sched& s) noexcept {
  std::int64_t const now_ns = os::monotonic_ns();
  s.g_slab.for_each([&](G& g) {
    auto const status = g.status.load(relaxed);
    if (status == g_status::idle || status == g_status::dead) return;
    bool const waits = status == g_status::waiting;
    out.add("  G%lld: status=%s%s%s%s lockedm=%d", id_of(&g), name_of(status), waits ? "(" : "",
            waits ? name_of(hint_of(g.waits_for)) : "", waits ? ")" : "", id_of(hint_of(g.locked_to)));
    add_stack(out, g, waits || status == g_status::runnable);
    out.add(" entry=%p creator=%llu createdat=%p", reinterpret_cast<void*>(hint_of(g.task.step)),
            static_cast<unsigned long long>(hint_of(g.task.created_by)), hint_of(g.task.created_at));
    if (waits) add_age(out, g, now_ns);
    out.add("\n");
  });
}

std::size_t room_for_all(Sched& s) noexcept {
  std::size_t lines = s.procs.size() + 16;
  {
    os::lock_guard const guard(s.lock);
    lines += static_cast<std::size_t>(s.ms_total);
  }
  os::lock_guard const guard(s.free_lock);
  return (lines + s.gs_made) * bytes_per_line;
}

}  // namespace

void print_schedtrace(Sched& s, std::int64_t since_start_ns) noexcept {
  bool const in_detail = s.options.scheddetail;
  page_text out(in_detail ? room_for_all(s) : s.procs.size() * 32 + bytes_per_line);
  {
    os::lock_guard const guard(s.lock);
    add_summary(out, s, since_start_ns);
    if (in_detail) out.add(" stopping=%s\n", yes_or_no(s.stopping));
  }
  if (in_detail) {
    add_ps(out, s);
    {
      os::lock_guard const guard(s.lock);
      add_ms(out, s);
    }
    os::lock_guard const guard(s.free_lock);
    add_gs(out, s);
  } else {
    add_line_of_ps(out, s);
  }
  out.write();
}

}  // namespace thrum::rt
