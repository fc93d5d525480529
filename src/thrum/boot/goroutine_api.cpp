// The public functions of go.h and runtime.h that are neither templates nor hot.
#include "base/check.h"
#include "boot/gauges.h"
#include "boot/outside_stats.h"
#include "boot/quota.h"
#include "core/current.h"
#include "core/forked.h"
#include "core/sched.h"
#include "core/trace.h"
#include "os/clock.h"
#include "os/cpu.h"
#include "sched/goroutine.h"
#include "sched/lock_os_thread.h"
#include "sched/make_way.h"
#include "sched/park.h"
#include "sched/safe_point.h"
#include "sched/timers.h"
#include "sched/wake.h"
#include "sys/foreign.h"
#include <thrum/go.h>
#include <thrum/runtime.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

namespace thrum {
namespace {

rt::M& on_goroutine(char const* what) {
  rt::M* const m = rt::current_m();
  if (m == nullptr || m->current == nullptr || m->is_foreign) {
    std::string const said = std::string("thrum: ") + what + " can only be called on a goroutine: ";
    throw std::logic_error(said + (rt::forked_inside_run() ? rt::why_no_runtime() : "call it inside thrum::run"));
  }
  return *m;
}

// For goroutines and, while a run is alive, for all other threads.
rt::M& of_caller(char const* what) {
  rt::M* const m = rt::callers_m();
  if (m == nullptr) throw std::logic_error(std::string("thrum: ") + what + " while " + rt::why_no_runtime());
  return *m;
}

// Holds the caller's M inside the runtime, because a foreign thread may touch the run only there.
class inside {
 public:
  explicit inside(char const* what) : m(of_caller(what)) { rt::enter_runtime(m); }
  ~inside() { rt::leave_runtime(m); }
  inside(inside const&) = delete;
  inside& operator=(inside const&) = delete;
  rt::M& m;
};

}  // namespace

void goexit() { rt::unwind_goroutine(*on_goroutine("goexit").current); }

std::uint64_t this_goroutine::id() { return on_goroutine("this_goroutine::id").current->id; }

void this_goroutine::set_name(std::string_view name) {
  static_cast<void>(on_goroutine("this_goroutine::set_name"));
  auto* const copy = static_cast<char*>(std::malloc(name.size() + 1));
  if (copy == nullptr) throw std::bad_alloc();
  *std::copy(name.begin(), name.end(), copy) = '\0';
  rt::M& m = *rt::current_m();
  rt::enter_runtime(m);  // a dump reads the name while no goroutine is inside the runtime
  char* const before = std::exchange(m.current->name, copy);
  rt::trace::is_named(m, *m.current, name);
  rt::leave_runtime(m);
  std::free(before);
}

std::string_view this_goroutine::name() {
  char const* const name = on_goroutine("this_goroutine::name").current->name;
  return name != nullptr ? name : "";
}

int set_max_procs(int n) {
  rt::M& m = of_caller("set_max_procs");
  if (n > rt::procs_max) {
    throw std::invalid_argument("thrum::set_max_procs: " + std::to_string(n) + " is more than " +
                                std::to_string(rt::procs_max));
  }
  rt::enter_runtime(m);
  int const now = m.sched.procs.size();
  if (n > 0) m.sched.procs_by_hand.store(true, rt::relaxed);  // from here on the number does not follow the machine
  rt::leave_runtime(m);
  return n <= 0 || n == now ? now : rt::change_procs(n);
}

int max_procs() {
  inside const here("max_procs");
  return here.m.sched.procs.size();
}
int num_cpus() { return rt::os::available_cpus(); }

namespace {

int made_and_not_ended(rt::Sched& s) noexcept {
  std::uint64_t ended = 0;
  std::uint64_t created = 0;
  auto const procs = s.procs.all();
  // The ended goroutines are read first. So a goroutine that begins and ends in between is counted once too often,
  // never too rarely.
  for (auto const& p : procs) ended += p->counters.ended.load(rt::acquire);
  for (auto const& p : procs) created += p->counters.created.load(rt::acquire);
  return static_cast<int>(created - ended);
}

}  // namespace

int num_goroutines() {
  rt::M& m = of_caller("num_goroutines");
  if (!m.is_foreign && m.sched.foreign.none_has_come()) return made_and_not_ended(m.sched);
  // inside the runtime, so that a goroutine that is stopped for good does not hold the lock of the seats
  inside const here("num_goroutines");
  return made_and_not_ended(here.m.sched) + rt::threads_inside(here.m.sched) - (here.m.is_foreign ? 1 : 0);
}

int num_threads() {
  inside const here("num_threads");
  rt::Sched& s = here.m.sched;
  rt::os::lock_guard const guard(s.lock);
  return s.ms.total();
}

void lock_os_thread() {
  rt::M& m = of_caller("lock_os_thread");
  rt::enter_runtime(m);
  rt::leave_runtime(rt::lock_to_thread(m));
}

void unlock_os_thread() {
  rt::M& m = of_caller("unlock_os_thread");
  rt::enter_runtime(m);
  rt::unlock_from_thread(m);
  rt::leave_runtime(m.stands_in ? rt::go_back(m) : m);
}

int set_max_threads(int limit) {
  if (limit < 1) throw std::invalid_argument("thrum::set_max_threads: the limit must be at least 1");
  inside const here("set_max_threads");
  rt::Sched& s = here.m.sched;
  int before = 0;
  {
    rt::os::lock_guard const guard(s.lock);
    before = s.pauses.set_threads_max(limit);
    if (s.ms.total() > limit) {
      rt::fatal("program has %d threads already, which exceeds the %d-thread limit (set_max_threads)", s.ms.total(),
                limit);
    }
  }
  rt::start_m_if_work_is_left(s);  // a P may have stayed idle at the limit so far
  return before;
}

namespace {

void copy_counters(rt::P& p, void* out) noexcept {
  auto& all = *static_cast<std::vector<proc_stats>*>(out);
  if (static_cast<std::size_t>(p.id) >= all.size()) return;  // the P was made a moment ago
  proc_stats& to = all[static_cast<std::size_t>(p.id)];
  // at a safe point of the P's owner; for a request from outside, from slightly different moments
  auto const read = [](rt::counter const& c) { return c.load(rt::relaxed); };
  rt::p_counters const& c = p.counters;
  to.id = p.id;
  to.in_use = p.status.load(rt::relaxed) != rt::p_status::dead;
  to.queued = p.queue.waiting();
  to.stacks_cached = p.stacks.count_hint();
  to.created = read(c.created);
  to.ended = read(c.ended);
  to.switches_direct = read(c.switches_direct);
  to.switches_via_g0 = read(c.switches_via_g0);
  to.stack_handovers = read(c.stack_handovers);
  to.joined_in_place = read(c.joined_in_place);
  to.parks = c.parks();
  to.readies = read(c.readies);
  to.yields = read(c.yields);
  to.overflows = read(c.overflows);
  to.global_takes = read(c.global_takes);
  to.steals = read(c.steals);
  to.stolen = read(c.stolen);
  to.wakes = read(c.wakes);
  to.spins = read(c.spins);
  to.spinning_ns = read(c.spinning_ns);
  to.timers_run = read(c.timers_run);
  to.polls = read(c.polls);
  to.syscalls = read(c.syscalls);
  to.handed_off = read(c.handed_off);
  to.returns_to_idle = read(c.returns_to_idle);
  to.returns_queued = read(c.returns_queued);
  to.preempted = read(c.preempted);
}

void add_durations(rt::duration_histogram const& from, durations& to) noexcept {
  to.total += std::chrono::nanoseconds(from.total_ns.load(rt::relaxed));
  to.longest = std::max(to.longest, std::chrono::nanoseconds(from.longest_ns.load(rt::relaxed)));
  static_assert(durations::buckets == rt::duration_histogram::buckets);
  for (std::size_t i = 0; i < durations::buckets; ++i) {
    std::uint64_t const more = from.by_time[i].load(rt::relaxed);
    to.by_time[i] += more;
    to.count += more;
  }
}

void add_waits(rt::p_counters const& from, stats& to) noexcept {
  static_assert(stats::wait_reasons + 1 == rt::wait_reasons, "all but wait_reason::none");
  for (std::size_t i = 0; i < stats::wait_reasons; ++i) {
    std::size_t const reason = i + 1;
    wait_stats& waits = to.waits[i];
    waits.reason = rt::name_of(static_cast<rt::wait_reason>(reason));
    waits.count += from.waits[reason].load(rt::relaxed);
    waits.measured += from.waits_measured[reason].load(rt::relaxed);
    waits.time += std::chrono::nanoseconds(from.waited_ns[reason].load(rt::relaxed));
  }
}

// Under sched.lock.
void add_idle_times(rt::Sched& s, stats& to) noexcept {
  std::int64_t const now_ns = rt::os::monotonic_ns();
  for (rt::P const* const p : s.procs.all())
    to.idle_time += std::chrono::nanoseconds(p->counters.idle_ns.load(rt::relaxed));
  s.idle.for_each_idle([&](rt::P const& p) { to.idle_time += std::chrono::nanoseconds(now_ns - p.idle_since_ns); });
}

void copy_totals(rt::Sched& s, stats& to, rt::blocking_sites& sites) noexcept {
  auto const stacks = s.stacks.stats();
  for (proc_stats const& p : to.procs) to.stacks_cached += p.stacks_cached;
  // the two figures are not of the same moment
  to.stacks_in_use = stacks.in_use - std::min(stacks.in_use, to.stacks_cached);
  to.stacks_free = stacks.free;
  to.stacks_guarded = stacks.guarded;
  to.stacks_unguarded = stacks.unguarded;
  for (rt::P const* const p : s.procs.all()) {
    add_durations(p->ready_to_run, to.ready_to_run);
    add_durations(p->calls_took, to.calls_took);
    add_durations(p->long_calls_took, to.long_calls_took);
    add_durations(p->polls_took, to.polls_took);
    add_waits(p->counters, to);
  }
  sites = s.unannounced.sites();
  rt::os::lock_guard const guard(s.lock);
  to.global_queue = s.global_queue.size();
  to.idle_procs = s.idle.count();
  to.threads = s.ms.total();
  to.idle_threads = s.ms.without_work();
  to.spinning_threads = s.idle.spinning();
  to.paused_threads = s.ms.paused();
  to.sysmon_looks = s.sysmon.looks.load(rt::relaxed);
  to.retaken = s.sysmon.retaken.load(rt::relaxed);
  to.unannounced = s.unannounced.count.load(rt::relaxed);
  to.preemptions_asked = s.sysmon.preemptions_asked.load(rt::relaxed);
  to.file_reads_waited = s.cold_reads.waited.load(rt::relaxed);
  to.file_reads_handed_off = s.cold_reads.handed_off.load(rt::relaxed);
  add_idle_times(s, to);
  add_durations(s.world.stopping_took, to.stopping_took);
  add_durations(s.world.stopped_for, to.stopped_for);
}

void add_up(stats& to, rt::gauges const& now, rt::blocking_sites const& sites) {
  to.running = now.running;
  to.runnable = now.runnable;
  to.in_calls = now.in_calls;
  to.waiting = now.waiting;
  for (proc_stats const& p : to.procs) to.created += p.created;
  for (rt::blocking_site const& site : sites) {
    to.unannounced_calls.push_back({site.call, reinterpret_cast<void const*>(site.caller), site.count});
  }
}

}  // namespace

bool measure_waits(bool on) {
  inside const here("measure_waits");
  return here.m.sched.trace.measure_waits(on);
}

stats read_stats() {
  rt::M& m = of_caller("read_stats");
  rt::Sched& s = m.sched;
  stats result;
  rt::blocking_sites sites;
  rt::enter_runtime(m);
  std::size_t const procs = s.procs.all().size();
  rt::leave_runtime(m);
  result.procs.resize(procs);
  rt::enter_runtime(m);
  rt::gauges const now = rt::count_goroutines(s, &m);  // first, because what follows interrupts the goroutines that run
  rt::for_each_proc(m, copy_counters, &result.procs);
  copy_totals(s, result, sites);
  rt::leave_runtime(m);
  add_up(result, now, sites);
  return result;
}

stats rt::read_stats_from_outside(Sched& s) {
  stats result;
  blocking_sites sites;
  result.procs.resize(s.procs.all().size());
  gauges const now = count_goroutines(s, nullptr);
  for (P* const p : s.procs.all()) copy_counters(*p, &result.procs);
  copy_totals(s, result, sites);
  add_up(result, now, sites);
  return result;
}

}  // namespace thrum
