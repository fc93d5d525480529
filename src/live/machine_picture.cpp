#include "live/machine_picture.h"

#include "debug/json.h"
#include "os/thread.h"

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace thrum::live {
namespace {

using rt::g_status;
using rt::m_status;
using rt::p_status;
using rt::wait_reason;

constexpr std::uint32_t of_global_queue_max = 256;
constexpr std::size_t of_waiting_place_max = 40;
constexpr std::size_t in_calls_max = 40;
constexpr std::size_t at_once = visits_per_hold_max;  // they are copied (boot/origin_groups.cpp)
constexpr std::size_t ms_at_once = 256;               // as many as are copied under sched.lock
static_assert(of_global_queue_max <= visits_per_hold_max && ms_at_once <= visits_per_hold_max);
constexpr std::size_t nothing = 0;  // no goroutine has this id

struct seen_goroutine {
  std::uint64_t id;
  g_status status;
  wait_reason reason;
};

seen_goroutine seen(rt::G const& g) noexcept {
  return {rt::hint_of(g.id), g.status.load(rt::relaxed), rt::hint_of(g.waits_for)};
}

struct seen_m {
  int id;
  m_status status;
  bool spins;
  rt::G const* current;
};

struct seen_p {
  int id = 0;
  p_status status = p_status::idle;
  int m = -1;  // -1: none
  std::uint64_t running = nothing;
  std::uint64_t next = nothing;
  std::vector<std::uint64_t> ring;
  std::uint32_t queued = 0;
};

struct waiting_place {
  std::uint64_t count = 0;
  std::vector<std::uint64_t> some;
};

std::string_view state_of(g_status status) noexcept {
  switch (status) {
    case g_status::idle:
    case g_status::dead: return "dead";
    case g_status::unstarted: return "new";
    case g_status::runnable: return "runnable";
    case g_status::running: return "running";
    case g_status::waiting:
    case g_status::hosting: return "waiting";
    case g_status::syscall: return "in_call";
  }
  return "dead";
}

std::string_view state_of(p_status status) noexcept {
  switch (status) {
    case p_status::running: return "running";
    case p_status::syscall: return "in_call";
    case p_status::stopped:
    case p_status::dead: return "stopped";
    case p_status::idle: break;
  }
  return "idle";
}

std::string_view kind_of(wait_reason reason) noexcept {
  switch (reason) {
    case wait_reason::chan_send:
    case wait_reason::chan_receive:
    case wait_reason::send_on_nil:
    case wait_reason::receive_on_nil:
    case wait_reason::select:
    case wait_reason::empty_select: return "chan";
    case wait_reason::mutex:
    case wait_reason::read_lock:
    case wait_reason::write_lock: return "mutex";
    case wait_reason::sleep: return "timer";
    case wait_reason::io: return "poller";
    default: return "other";
  }
}

std::string_view state_of(seen_m const& m, bool has_p) noexcept {
  switch (m.status) {
    case m_status::awake:
      if (m.spins) return "spinning";
      return has_p ? "running" : "in_call";
    case m_status::timekeeper:
    case m_status::roused: return "timekeeper";
    case m_status::starting:
    case m_status::starting_without_p: return "starting";
    default: return has_p ? "running" : "resting";
  }
}

class photographer {
 public:
  explicit photographer(rt::Sched& s) : sched_(s) {}
  machine_picture take();

 private:
  void look_at_global_queue();
  void look_at_ms();
  void look_at_procs();
  void look_at_rest();
  void write(rt::json_writer& to) const;
  static void write_place(rt::json_writer& to, std::string_view kind, std::string_view label, waiting_place const& all);

  // Returns the id if the goroutine is alive and has no place yet. It has one from here on.
  std::uint64_t place(seen_goroutine const& one) {
    bool const has_room = all_.size() < goroutines_of_a_picture_max;
    if (one.id == nothing || !is_alive(one.status) || !has_room || !placed_.insert(one.id).second) return nothing;
    all_.push_back(one);
    return one.id;
  }

  // So many records were visited while a lock of the scheduler was held.
  void note_visits(std::size_t visited) noexcept { visits_per_hold_ = std::max(visits_per_hold_, visited); }

  rt::Sched& sched_;
  std::size_t visits_per_hold_ = 0;
  std::vector<seen_goroutine> all_;
  std::unordered_set<std::uint64_t> placed_;
  std::vector<std::uint64_t> global_;
  std::uint32_t global_size_ = 0;
  std::vector<seen_m> ms_;
  std::vector<seen_p> procs_;
  std::unordered_map<int, int> proc_of_m_;
  std::array<waiting_place, rt::wait_reasons> waiting_;
  waiting_place joining_;
  waiting_place in_calls_;
};

// Nothing may be allocated under the lock (T01), so the goroutines and the Ms are copied to the stack first.
void photographer::look_at_global_queue() {
  std::array<seen_goroutine, of_global_queue_max> first{};
  std::size_t count = 0;
  std::size_t visited = 0;
  {
    rt::os::lock_guard const guard(sched_.lock);
    global_size_ = sched_.global_queue.size();
    sched_.global_queue.for_each_plain(of_global_queue_max, [&](rt::entry e) {
      ++visited;
      if (!e.is_stale()) first[count++] = seen(*e.g());
    });
  }
  note_visits(visited);
  for (std::size_t i = 0; i < count; ++i) {
    if (std::uint64_t const id = place(first[i]); id != nothing) global_.push_back(id);
  }
}

// An M that is made while this function runs is not in the picture.
void photographer::look_at_ms() {
  std::array<seen_m, ms_at_once> some{};
  rt::all_ms const all = rt::all_ms_now(sched_);
  for (auto at = all.begin(); at != rt::all_ms::end();) {
    std::size_t count = 0;
    std::size_t visited = 0;
    {
      rt::os::lock_guard const guard(sched_.lock);
      for (; at != rt::all_ms::end() && visited < ms_at_once; ++at) {
        ++visited;
        if (!at->is_foreign) some[count++] = {at->id, at->status, rt::hint_of(at->spinning), rt::hint_of(at->current)};
      }
    }
    note_visits(visited);
    ms_.insert(ms_.end(), some.begin(), some.begin() + static_cast<std::ptrdiff_t>(count));
  }
}

// Those that run come first, because a P shows no goroutine otherwise.
void photographer::look_at_procs() {
  for (rt::P* const p : sched_.procs) {
    seen_p& one = procs_.emplace_back();
    one.id = p->id;
    one.status = p->status.load(rt::relaxed);
    rt::M const* const m = rt::m_seen_on(*p);
    if (m == nullptr || m->is_foreign || !proc_of_m_.try_emplace(m->id, p->id).second) continue;
    one.m = m->id;
    if (rt::G const* const g = rt::hint_of(m->current)) one.running = place(seen(*g));
  }
  std::size_t at = 0;
  for (rt::P* const p : sched_.procs) {
    if (at == procs_.size()) break;
    seen_p& one = procs_[at++];
    auto const place_entry = [&](rt::entry e) { return e && !e.is_stale() ? place(seen(*e.g())) : nothing; };
    one.next = place_entry(p->queue.peek_next());
    std::uint32_t const first = p->queue.taken();
    std::uint32_t const count = std::min(p->queue.size(), p->queue.capacity());
    one.queued = p->queue.waiting();
    for (std::uint32_t i = 0; i < count; ++i) {
      if (std::uint64_t const id = place_entry(p->queue.at(first + i)); id != nothing) one.ring.push_back(id);
    }
  }
}

// Those that wait or are in calls: how many, and some of them.
void photographer::look_at_rest() {
  auto const copies = std::make_unique<std::array<seen_goroutine, at_once>>();
  auto const note = [&](waiting_place& where, seen_goroutine const& one, std::size_t most) {
    ++where.count;
    if (where.some.size() >= most) return;
    if (std::uint64_t const id = place(one); id != nothing) where.some.push_back(id);
  };
  auto walk = sched_.records.begin_walk();
  for (bool is_more = true; is_more;) {
    std::size_t count = 0;
    is_more = sched_.records.walk_on(walk, at_once, [&](rt::G const& g) {
      (*copies)[count++] = seen(g);
      return true;
    });
    note_visits(count);
    for (std::size_t i = 0; i < count; ++i) {
      seen_goroutine const& one = (*copies)[i];
      if (one.status == g_status::waiting) {
        note(waiting_[static_cast<std::size_t>(one.reason)], one, of_waiting_place_max);
      } else if (one.status == g_status::hosting) {
        note(joining_, one, of_waiting_place_max);
      } else if (one.status == g_status::syscall) {
        note(in_calls_, one, in_calls_max);
      }
    }
  }
}

void write_numbers(rt::json_writer& to, std::string_view name, std::span<std::uint64_t const> ids) {
  to.name(name).begin_array();
  for (std::uint64_t const id : ids) to.value(id);
  to.end_array();
}

void write_number_or_null(rt::json_writer& to, std::string_view name, std::uint64_t id) {
  to.name(name);
  id == nothing ? to.raw("null") : to.value(id);
}

void write_index_or_null(rt::json_writer& to, std::string_view name, int index) {
  to.name(name);
  index < 0 ? to.raw("null") : to.value(std::int64_t{index});
}

void photographer::write_place(rt::json_writer& to, std::string_view kind, std::string_view label,
                               waiting_place const& all) {
  if (all.some.empty()) return;
  to.begin_object().member("id", label).member("kind", kind).member("label", label);
  to.member("count", all.count);
  write_numbers(to, "gs", all.some);
  to.end_object();
}

void photographer::write(rt::json_writer& to) const {
  to.begin_object();
  write_numbers(to, "global", global_);
  to.member("global_count", std::uint64_t{global_size_}).name("procs").begin_array();
  for (seen_p const& p : procs_) {
    to.begin_object().member("id", std::int64_t{p.id}).member("status", state_of(p.status));
    write_index_or_null(to, "m", p.m);
    write_number_or_null(to, "running", p.running);
    write_number_or_null(to, "next", p.next);
    write_numbers(to, "ring", p.ring);
    to.member("queued", std::uint64_t{p.queued}).end_object();
  }
  to.end_array().name("ms").begin_array();
  for (seen_m const& m : ms_) {
    bool const is_over =
        m.status == m_status::threadless || m.status == m_status::dismissed || m.status == m_status::let_go;
    auto const on = proc_of_m_.find(m.id);
    bool const has_p = on != proc_of_m_.end();
    if (is_over && !has_p) continue;
    std::uint64_t const g = m.current != nullptr ? rt::hint_of(m.current->id) : nothing;
    to.begin_object().member("id", std::int64_t{m.id}).member("state", state_of(m, has_p));
    write_index_or_null(to, "p", has_p ? on->second : -1);
    write_number_or_null(to, "g", placed_.contains(g) ? g : nothing);
    to.end_object();
  }
  to.end_array().name("gs").begin_array();
  for (seen_goroutine const& g : all_) {
    std::string label("G");
    label += std::to_string(g.id);
    to.begin_object().member("id", g.id).member("label", std::string_view(label));
    to.member("state", state_of(g.status));
    if (g.status == g_status::waiting) to.member("reason", name_of(g.reason)).member("place", name_of(g.reason));
    to.end_object();
  }
  to.end_array().name("waiting").begin_array();
  for (std::size_t i = 0; i < waiting_.size(); ++i) {
    auto const reason = static_cast<wait_reason>(i);
    write_place(to, kind_of(reason), name_of(reason), waiting_[i]);
  }
  write_place(to, "other", "joined in place", joining_);
  write_place(to, "call", "system calls", in_calls_);
  to.end_array().end_object();
}

machine_picture photographer::take() {
  look_at_procs();
  look_at_global_queue();
  look_at_ms();
  look_at_rest();
  // An M that was made after the list of Ms is not in it.
  for (seen_p& p : procs_) {
    bool const is_listed = std::any_of(ms_.begin(), ms_.end(), [&](seen_m const& m) { return m.id == p.m; });
    if (!is_listed) p.m = -1;
  }
  machine_picture taken{.procs = static_cast<int>(procs_.size()),
                        .queue_size = sched_.options.run_queue_capacity,
                        .visits_per_hold = visits_per_hold_,
                        .state_json = {}};
  rt::json_writer to(taken.state_json);
  write(to);
  return taken;
}

}  // namespace

machine_picture take_picture(rt::Sched& s) { return photographer(s).take(); }

std::string step_of(machine_picture const& taken, std::int64_t t_ns) {
  std::string step;
  rt::json_writer(step).begin_object().member("t", t_ns).name("state").raw(taken.state_json).end_object();
  return step;
}

std::string recording_of(machine_picture const& taken, std::int64_t t_ns) {
  std::string const title = "Process " + std::to_string(rt::os::process_id());
  auto const words = [&title](rt::json_writer& to) {
    to.name("title").begin_object().member("en", std::string_view(title)).end_object();
  };
  std::string recording;
  rt::json_writer to(recording);
  to.begin_object().member("format", "thrum-recording").member("version", std::int64_t{1}).member("kind", "live");
  words(to);
  to.member("clock", "ns").name("parts").begin_array().begin_object().member("id", "live");
  words(to);
  to.member("procs", std::int64_t{taken.procs});
  to.member("queue_size", std::uint64_t{taken.queue_size}).name("steps").begin_array();
  to.raw(step_of(taken, t_ns)).end_array().end_object().end_array().end_object();
  return recording;
}

}  // namespace thrum::live
