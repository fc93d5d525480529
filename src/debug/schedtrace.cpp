#include "debug/schedtrace.h"

#include "base/check.h"
#include "os/lock.h"
#include "os/memory.h"

#include <cstdarg>
#include <cstdint>
#include <cstdio>

namespace thrum::rt {
namespace {

// Text in memory of its own.
class page_text {
 public:
  explicit page_text(std::size_t bytes) noexcept : bytes_(bytes), text_(os::map(bytes).address) {}
  ~page_text() {
    if (text_ != nullptr) os::unmap(text_, bytes_);
  }
  page_text(page_text const&) = delete;
  page_text& operator=(page_text const&) = delete;

  // What does not fit is left out.
  void add(char const* format, ...) noexcept __attribute__((format(printf, 2, 3))) {
    if (text_ == nullptr) return;
    std::size_t const room = bytes_ - used_;
    std::va_list arguments;
    va_start(arguments, format);
    int const length = std::vsnprintf(text_ + used_, room, format, arguments);
    va_end(arguments);
    if (length > 0 && static_cast<std::size_t>(length) < room) used_ += static_cast<std::size_t>(length);
  }
  void write() const noexcept {
    if (text_ != nullptr) write_to_stderr(text_, used_);
  }

 private:
  std::size_t const bytes_;
  char* const text_;
  std::size_t used_ = 0;
};

constexpr std::size_t bytes_per_line = 192;

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
    out.add("  P%d: status=%s schedtick=%u syscalltick=%llu m=%d runqsize=%u gfreecnt=%u timerslen=%u\n", p->id,
            name_of(p->status.load(relaxed)), p->schedtick.load(relaxed),
            static_cast<unsigned long long>(p->counters.syscalls.load(relaxed)), id_of(hint_of(p->m)),
            p->queue.waiting(), hint_of(p->free_g_count), p->timers.count().entries);
  }
}

void add_ms(page_text& out, Sched const& s) noexcept {
  for (M const* m = s.all_ms; m != nullptr; m = m->all_link) {
    G const* const runs = hint_of(m->current);
    out.add("  M%d: p=%d curg=%lld inruntime=%s spinning=%s\n", m->id, id_of(hint_of(m->p)), id_of(runs),
            yes_or_no(m->in_runtime.load(relaxed)), yes_or_no(hint_of(m->spinning)));
  }
}

// Under free_lock.
void add_gs(page_text& out, Sched& s) noexcept {
  s.g_slab.for_each([&](G& g) {
    auto const status = g.status.load(relaxed);
    if (status == g_status::idle || status == g_status::dead) return;
    bool const waits = status == g_status::waiting;
    out.add("  G%lld: status=%s%s%s%s lockedm=%d\n", id_of(&g), name_of(status), waits ? "(" : "",
            waits ? name_of(hint_of(g.waits_for)) : "", waits ? ")" : "", id_of(hint_of(g.locked_to)));
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
