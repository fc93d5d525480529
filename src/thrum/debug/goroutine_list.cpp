#include "debug/goroutine_list.h"

#include "arch/stack_walk.h"
#include "base/check.h"
#include "core/current.h"
#include "debug/known_wait.h"
#include "debug/ms_of_gs.h"
#include "debug/symbols.h"
#include "os/clock.h"
#include "os/guarded_call.h"
#include "os/interrupted_code.h"
#include "os/memory.h"
#include "stack/stack.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <limits>

namespace thrum::rt {
namespace {

constexpr std::size_t listed_max = 100'000;

// For a report when there is no memory. It serves one report at a time; a second report at the same time has no
// entries.
constexpr std::size_t reserve_max = 256;
struct reserve {
  atomic<bool> is_taken{false};
  goroutine_entry entries[reserve_max];
  std::uintptr_t frames[reserve_max * goroutine_entry::frames_max];
};
constinit reserve last_resort{};

// The memory of so many entries and of their frames.
constexpr std::size_t bytes_of(std::size_t entries) noexcept {
  return entries * (sizeof(goroutine_entry) + goroutine_entry::frames_max * sizeof(std::uintptr_t));
}
static_assert(alignof(goroutine_entry) >= alignof(std::uintptr_t));

M const* m_that_runs(Sched const& s, G const& g) noexcept {
  M const* const m = s.ms.all().find([&g](M const& each) { return hint_of(each.current) == &g; });
  return m;
}

bool is_current(G const& g) noexcept {
  M const* const m = current_m();
  return m != nullptr && m->current == &g;
}

// The context from which its stack can be walked, or nullptr if a thread may run on the stack.
context const* location_of(G const& g) noexcept {
  auto const status = g.status.load(relaxed);
  bool const has_left = status == g_status::waiting || status == g_status::runnable;
  // published_pointer() pairs with call_with_context. For a goroutine that has switched away, the stop of the world, or
  // whatever else led here, orders its writes before this read.
  return (has_left || is_current(g)) && published_pointer(g.saved.pc) != nullptr ? &g.saved : nullptr;
}

// A thread in a system call may come back at any moment, and runs without a P until it asks for one, so its stack
// cannot be walked in place. But the stack stays its own meanwhile: before the goroutine can end it must get a P, and
// while the world is stopped or being stopped, that needs sched.lock. A thread with the mark set is on its way there,
// and the call it sleeps in is that lock.
void note_call(M const* m, G const& g, goroutine_entry& e) noexcept {
  if (m == nullptr || m->is_foreign) return;
  if ((m->attention.load(relaxed) & m_attend::unannounced) == 0) e.announced_at = hint_of(m->call_site);
  stack const* const on = hint_of(g.on);
  if (on == nullptr || m->in_runtime.load(relaxed)) return;
  e.asleep = copy_sleeper(hint_of(m->tid), {hint_of(on->low), hint_of(on->top)});
}

std::size_t note_frames(G const& g, std::uintptr_t* pcs, std::size_t max) noexcept {
  auto const status = g.status.load(relaxed);
  bool const is_foreign = g.only_m != nullptr && g.only_m->is_foreign;
  if (g.on == nullptr && !is_foreign) return 0;  // it has no stack yet
  stack_range range{nullptr, reinterpret_cast<char const*>(std::numeric_limits<std::uintptr_t>::max())};
  if (!is_foreign) range = {g.on->low, g.on->top};
  if (status == g_status::runnable && is_on_own_thread(g) && g.only_m->interrupted != nullptr) {
    return os::walk_stack_guarded(os::interrupted_registers(g.only_m->interrupted), range, pcs, max);
  }
  context const* const where = location_of(g);
  return where != nullptr ? os::walk_stack_guarded(registers_of(*where), range, pcs, max) : 0;
}

// Called under sched.lock. Threads without a P are not stopped, but they change their goroutine's status under this
// lock.
template <class F>
void for_each_alive(Sched& s, F visit) noexcept {
  s.records.for_each_g([&](G& g) {
    if (is_alive(g.status.load(relaxed))) visit(g);
  });
  for (M const& m : s.ms.all()) {
    // A foreign thread counts while it is inside.
    if (m.is_foreign && m.current != nullptr && m.in_runtime.load(relaxed)) visit(*m.current);
  }
}

// A name that is too long is cut between two characters of UTF-8.
void copy_name(char const* from, char* to) noexcept {
  constexpr unsigned char first_bits = 0xc0;
  constexpr unsigned char inner = 0x80;
  std::size_t length = ::strnlen(from, goroutine_entry::name_max);
  if (length == goroutine_entry::name_max) {
    --length;
    while (length != 0 && (static_cast<unsigned char>(from[length]) & first_bits) == inner) --length;
  }
  std::memcpy(to, from, length);
}

void note_state(G const& g, std::int64_t now_ns, goroutine_entry& e) noexcept {
  e.id = g.id;
  e.status = g.status.load(relaxed);
  e.reason = g.waits_for;
  e.is_locked = g.detour.is_locked;
  e.is_foreign = g.only_m != nullptr && g.only_m->is_foreign;
  e.waits_for_ns = e.waits() ? known_wait_ns(g, e.reason, now_ns).value_or(0) : 0;
  e.created_by = g.task.created_by;
  e.created_at = e.is_foreign ? 0 : reinterpret_cast<std::uintptr_t>(g.task.created_at);
}

// Whether m is the M of a foreign thread that is inside the runtime, as the goroutine with this id.
bool is_inside_as(M const& m, std::uint64_t id) noexcept {
  G const* const its = m.is_foreign && m.in_runtime.load(relaxed) ? hint_of(m.current) : nullptr;
  return its != nullptr && hint_of(its->id) == id;
}

}  // namespace

G* find_goroutine(Sched& s, std::uint64_t id) noexcept {
  G* found = nullptr;
  auto walk = s.records.begin_walk();
  auto const look = [&](G& g) {
    if (hint_of(g.id) == id && is_alive(g.status.load(relaxed))) found = &g;
    return found == nullptr;
  };
  while (s.records.walk_on(walk, record_pool::visits_at_once, look) && found == nullptr) {
  }
  if (found != nullptr) return found;
  M* const outside = all_ms_now(s).find([id](M const& m) { return is_inside_as(m, id); });
  return outside != nullptr ? hint_of(outside->current) : nullptr;
}

goroutine_list::~goroutine_list() {
  for (std::size_t i = 0; i < count_; ++i) forget(all_[i].asleep);
  if (all_ == last_resort.entries) {
    last_resort.is_taken.store(false, release);  // pairs with make_room
  } else if (all_ != nullptr) {
    os::unmap(reinterpret_cast<char*>(all_), bytes_of(room_));
  }
}

void goroutine_list::make_room(std::size_t entries) noexcept {
  room_ = std::min(entries, listed_max);
  all_ = reinterpret_cast<goroutine_entry*>(os::map(bytes_of(room_)).address);
  if (all_ != nullptr) {
    next_frame_ = reinterpret_cast<std::uintptr_t*>(all_ + room_);
    return;
  }
  bool const is_free = !last_resort.is_taken.exchange(true, acquire);  // pairs with the destructor
  room_ = is_free ? std::min(entries, reserve_max) : 0;
  if (!is_free) return;
  all_ = last_resort.entries;
  next_frame_ = last_resort.frames;
}

// Under sched.lock. There is room for one more. m_of(g) is the M that runs g, or nullptr.
template <class F>
void goroutine_list::add(frames wanted, G const& g, F m_of, std::int64_t now_ns) noexcept {
  goroutine_entry& e = all_[count_++];
  e = {};
  note_state(g, now_ns, e);
  if (wanted == frames::none) return;  // nor is the name read, which the goroutine may replace or free
  // a goroutine that could not be stopped may replace its name
  bool const may_run = e.status == g_status::running && !is_current(g);
  if (g.name != nullptr && !may_run) copy_name(g.name, e.name);
  if (e.status == g_status::syscall) {
    note_call(m_of(g), g, e);
  } else {
    e.frames = static_cast<std::uint32_t>(note_frames(g, next_frame_, goroutine_entry::frames_max));
    e.pcs = next_frame_;
    next_frame_ += e.frames;
  }
}

void goroutine_list::note(Sched& s, frames wanted, std::uint64_t except_id) noexcept {
  cycles_.note(s);
  os::lock_guard const guard(s.lock);
  std::size_t alive = 0;
  for_each_alive(s, [&](G const& g) { alive += g.id != except_id ? 1 : 0; });
  if (alive == 0) return;
  make_room(alive);
  left_out_ = alive - room_;
  ms_of_gs ms(static_cast<std::size_t>(s.ms.made()));
  for (M const& m : s.ms.all()) ms.note(hint_of(m.current), m);
  ms.sort();
  auto const m_of = [&](G const& g) { return ms.has_memory() ? ms.m_of(g) : m_that_runs(s, g); };
  std::int64_t const now_ns = os::monotonic_ns();
  for_each_alive(s, [&](G const& g) {
    if (count_ != room_ && g.id != except_id) add(wanted, g, m_of, now_ns);
  });
}

void goroutine_list::note_one(Sched& s, frames wanted, G const& g, std::uint64_t id) noexcept {
  os::lock_guard const guard(s.lock);
  if (hint_of(g.id) != id || !is_alive(g.status.load(relaxed))) return;
  make_room(1);
  left_out_ = 1 - room_;
  if (room_ == 0) return;
  add(
      wanted, g, [&s](G const& its) { return m_that_runs(s, its); }, os::monotonic_ns());
}

void goroutine_list::print_plainly() const noexcept {
  auto const print_address = [](std::uintptr_t pc) { print_error("pc 0x%zx", pc); };
  for (goroutine_entry const& e : entries()) {
    print_error("%s", goroutine_head(e).text());
    if (e.asleep.is_known()) print_error("in system call %ld", e.asleep.call);
    if (e.announced_at != 0) print_error("inside a call announced at");
    if (e.announced_at != 0) print_address(e.announced_at);
    for (std::uint32_t i = 0; i < e.frames; ++i) print_address(e.pcs[i]);
    if (e.is_cut()) print_error("...");
    if (e.created_at != 0) {
      print_error("created by goroutine %llu", static_cast<unsigned long long>(e.created_by));
      print_address(e.creation_call());
    }
    print_error("%s", "");
  }
  if (left_out_ != 0) print_error("... and %zu more", left_out_);
  if (count_ != 0) print_how_to_look_addresses_up();
}

goroutine_head::goroutine_head(goroutine_entry const& e) noexcept {
  char time[32] = "";
  write_age(e.waits_for_ns, time, sizeof time);
  char name[goroutine_entry::name_max];
  std::transform(std::begin(e.name), std::end(e.name), name, [](char c) {
    auto const code = static_cast<unsigned char>(c);
    return c != '\0' && (code < ' ' || code == 0x7f) ? '?' : c;
  });
  std::snprintf(text_, sizeof text_, "goroutine %llu [%s%s%s%s%s]%s%s:", static_cast<unsigned long long>(e.id),
                name_of(e.status), e.waits() ? ": " : "", e.waits() ? name_of(e.reason) : "", time, thread_note(e),
                name[0] != '\0' ? " " : "", name);
}

void write_age(std::int64_t ns, char* out, std::size_t room) noexcept {
  constexpr std::int64_t minute_ns = 60'000'000'000;
  constexpr std::int64_t second_ns = 1'000'000'000;
  if (ns >= 2 * minute_ns) {
    std::snprintf(out, room, ", %lld minutes", static_cast<long long>(ns / minute_ns));
  } else if (ns >= second_ns) {
    std::snprintf(out, room, ", %lld s", static_cast<long long>(ns / second_ns));
  }
}

char const* thread_note(goroutine_entry const& e) noexcept {
  return e.is_foreign ? ", a thread from outside" : e.is_locked ? ", locked to thread" : "";
}

}  // namespace thrum::rt
