#include "debug/dump.h"

#include "arch/stack_walk.h"
#include "base/check.h"
#include "base/report_limits.h"
#include "base/standard_error.h"
#include "core/current.h"
#include "debug/program_places.h"
#include "os/call_name.h"
#include "os/clock.h"
#include "os/guarded_call.h"
#include "os/interrupted_code.h"
#include "os/memory.h"
#include "stack/stack.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string_view>
#include <vector>

namespace thrum::rt {

namespace {

constexpr std::size_t listed_max = 100'000;

// For how many seconds of reports the reader of the names may make no step. Opening the files of a large program takes
// a while.
constexpr std::int64_t patience_with_names_s = 60;

// For a report when there is no memory. It serves one report at a time; a second report at the same time has no
// entries.
constexpr std::size_t reserve_max = 256;
struct reserve {
  atomic<bool> is_taken{false};
  goroutine_list::entry_of entries[reserve_max];
};
constinit reserve last_resort{};

bool is_alive(G const& g) noexcept {
  auto const status = g.status.load(relaxed);
  return status != g_status::idle && status != g_status::dead;
}

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
void note_call(Sched const& s, G const& g, goroutine_list::entry_of& e) noexcept {
  M const* const m = m_that_runs(s, g);
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
    if (is_alive(g)) visit(g);
  });
  for (M const& m : s.ms.all()) {
    // A foreign thread counts while it is inside.
    if (m.is_foreign && m.current != nullptr && m.in_runtime.load(relaxed)) visit(*m.current);
  }
}

void add_places(symbols& known, std::uintptr_t pc, std::string& out) {
  for (code_place const& place : known.places_of(pc)) {
    if (!is_plumbing(place)) out += lines_of(place);
  }
}

// "goroutine 7 [waiting: chan receive, locked to thread] name:". Times below a second are not shown. Allocates nothing.
class head_of {
 public:
  explicit head_of(goroutine_list::entry_of const& e) noexcept {
    bool const waits = e.status == g_status::waiting;
    char time[32] = "";
    note_time(e.waits_for_ns, time, sizeof time);
    char const* const thread = e.is_foreign ? ", a thread from outside" : e.is_locked ? ", locked to thread" : "";
    std::snprintf(text_, sizeof text_, "goroutine %llu [%s%s%s%s%s]%s%s:", static_cast<unsigned long long>(e.id),
                  name_of(e.status), waits ? ": " : "", waits ? name_of(e.reason) : "", time, thread,
                  e.name[0] != '\0' ? " " : "", e.name);
  }
  [[nodiscard]] char const* text() const noexcept { return text_; }

 private:
  static void note_time(std::int64_t ns, char* out, std::size_t room) noexcept {
    constexpr std::int64_t minute_ns = 60'000'000'000;
    constexpr std::int64_t second_ns = 1'000'000'000;
    if (ns >= 2 * minute_ns) {
      std::snprintf(out, room, ", %lld minutes", static_cast<long long>(ns / minute_ns));
    } else if (ns >= second_ns) {
      std::snprintf(out, room, ", %lld s", static_cast<long long>(ns / second_ns));
    }
  }

  char text_[256];
};

std::string places_of(symbols& known, std::vector<std::uintptr_t> const& pcs) {
  std::string text;
  for (std::uintptr_t const pc : pcs) add_places(known, pc, text);
  return text;
}

// Writes "in system call 63 (read)" and the frames, and says which of them are not certain. Returns true if these are
// all frames.
bool add_sleeper(symbols& known, sleeper const& asleep, std::string& out) {
  char const* const name = os::name_of_call(asleep.call);
  out += "in system call " + std::to_string(asleep.call);
  if (name != nullptr) out += std::string(" (") + name + ')';
  sleeper_frames const found = known.frames_of(asleep);
  out += '\n' + places_of(known, found.known);
  if (found.is_whole) return true;
  std::string guessed = places_of(known, found.guessed);
  if (guessed.empty() && found.known.size() == 1) guessed = places_of(known, guess_caller_in_program(asleep));
  out += guessed.empty() ? "...\n" : "perhaps called, directly or not, from\n" + guessed;
  return false;
}

void add_call(symbols& known, goroutine_list::entry_of const& e, std::string& out) {
  bool const is_whole = e.asleep.is_known() && add_sleeper(known, e.asleep, out);
  if (is_whole || e.announced_at == 0) return;
  out += "inside a call announced at\n";
  add_places(known, e.announced_at, out);
}

}  // namespace

goroutine_list::~goroutine_list() {
  for (std::size_t i = 0; i < count_; ++i) forget(all_[i].asleep);
  if (all_ == last_resort.entries) {
    last_resort.is_taken.store(false, release);  // pairs with make_room
  } else if (all_ != nullptr) {
    os::unmap(reinterpret_cast<char*>(all_), room_ * sizeof(entry_of));
  }
}

void goroutine_list::make_room(std::size_t entries) noexcept {
  room_ = std::min(entries, listed_max);
  all_ = reinterpret_cast<entry_of*>(os::map(room_ * sizeof(entry_of)).address);
  if (all_ != nullptr) return;
  bool const is_free = !last_resort.is_taken.exchange(true, acquire);  // pairs with the destructor
  room_ = is_free ? std::min(entries, reserve_max) : 0;
  if (is_free) all_ = last_resort.entries;
}

void goroutine_list::note(Sched& s, frames wanted, std::uint64_t but) noexcept {
  cycles_.note(s);
  os::lock_guard const guard(s.lock);
  std::size_t alive = 0;
  for_each_alive(s, [&](G const& g) { alive += g.id != but ? 1 : 0; });
  if (alive == 0) return;
  make_room(alive);
  left_out_ = alive - room_;
  std::int64_t const now_ns = os::monotonic_ns();
  for_each_alive(s, [&](G const& g) {
    if (count_ == room_ || g.id == but) return;
    entry_of& e = all_[count_++];
    e = {};
    e.id = g.id;
    e.status = g.status.load(relaxed);
    e.reason = g.waits_for;
    e.is_locked = g.detour.is_locked;
    e.is_foreign = g.only_m != nullptr && g.only_m->is_foreign;
    bool const since_is_known = e.reason == wait_reason::mutex ||
                                (g.attention.load(acquire) & g_attend::aged) != 0;  // pairs with parked_stacks
    e.waits_for_ns = e.status == g_status::waiting && since_is_known ? now_ns - g.waits_since_ns.load(relaxed) : 0;
    e.created_by = g.task.created_by;
    e.created_at = e.is_foreign ? 0 : reinterpret_cast<std::uintptr_t>(g.task.created_at);
    if (wanted == frames::none) return;  // nor is the name read, which the goroutine may replace or free
    if (g.name != nullptr) std::strncpy(e.name, g.name, entry_of::name_max - 1);
    if (e.status == g_status::syscall) {
      note_call(s, g, e);
    } else {
      e.frames = static_cast<std::uint32_t>(note_frames(g, e.pcs, entry_of::frames_max));
    }
  });
}

void goroutine_list::write(symbols& known, std::string& out) {
  cycles_.write(out);
  for (entry_of const* e = all_; e != all_ + count_; ++e) {
    out += head_of(*e).text();
    out += '\n';
    if (e->status == g_status::syscall) add_call(known, *e, out);
    for (std::uint32_t i = 0; i < e->frames; ++i) add_places(known, e->pcs[i], out);
    if (e->frames == entry_of::frames_max) out += "...\n";
    if (e->created_at != 0) {
      out += "created by goroutine " + std::to_string(e->created_by) + '\n';
      add_places(known, e->created_at - 1, out);  // it is a return address
    }
    out += '\n';
  }
  if (left_out_ != 0) out += "... and " + std::to_string(left_out_) + " more\n";
  if (count_ != 0) out += known.note_on_names();
}

void goroutine_list::print_plainly() const noexcept {
  auto const print_address = [](std::uintptr_t pc) { print_error("pc 0x%zx", pc); };
  for (entry_of const* e = all_; e != all_ + count_; ++e) {
    print_error("%s", head_of(*e).text());
    if (e->asleep.is_known()) print_error("in system call %ld", e->asleep.call);
    if (e->announced_at != 0) print_error("inside a call announced at");
    if (e->announced_at != 0) print_address(e->announced_at);
    for (std::uint32_t i = 0; i < e->frames; ++i) print_address(e->pcs[i]);
    if (e->frames == entry_of::frames_max) print_error("...");
    if (e->created_at != 0) {
      print_error("created by goroutine %llu", static_cast<unsigned long long>(e->created_by));
      print_address(e->created_at - 1);  // it is a return address
    }
    print_error("%s", "");
  }
  if (left_out_ != 0) print_error("... and %zu more", left_out_);
  if (count_ != 0) print_how_to_look_addresses_up();
}

bool print_goroutines(goroutine_list& all) noexcept {
  auto const print = [](symbols& known, void* list) noexcept {
    auto& its = *static_cast<goroutine_list*>(list);
    try {
      std::string text;
      its.write(known, text);
      if (!its.has_no_names()) write_to_stderr(text.data(), text.size());
    } catch (...) {
      print_error("thrum: no memory for the goroutine dump");
    }
  };
  report_end const end = with_symbols_in_time(patience_with_names_s * second_of_reports_ns(), print, &all);
  if (end == report_end::is_reached) return true;
  bool const is_left = end == report_end::is_left;
  if (is_left) all.leave_names_out();
  print_error("thrum: the names of functions cannot be had: %s",
              is_left ? "their reader has waited too long, probably for dlopen" : "no thread can be made to read them");
  all.print_plainly();
  return !is_left;
}

}  // namespace thrum::rt
