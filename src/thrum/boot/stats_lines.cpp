#include "boot/stats_lines.h"

#include "boot/outside_stats.h"
#include "os/clock.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <string_view>
#include <utility>

namespace thrum::rt {
namespace {

class lines {
 public:
  void add(std::string_view name, std::uint64_t value) { add(name, std::to_string(value)); }
  void add(std::string_view name, std::string_view value) {
    text_ += prefix_;
    text_ += name;
    text_ += ' ';
    text_ += value;
    text_ += '\n';
  }
  void begin_group(std::string prefix) { prefix_ = std::move(prefix); }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::string prefix_;
  std::string text_;
};

std::uint64_t as_count(int number) noexcept { return number > 0 ? static_cast<std::uint64_t>(number) : 0; }
std::uint64_t as_count(std::chrono::nanoseconds time) noexcept { return static_cast<std::uint64_t>(time.count()); }

// The upper edge of the bucket in which the time of this rank lies; the longest time, if that is less.
std::uint64_t percentile(durations const& all, std::uint64_t percent) noexcept {
  std::uint64_t const rank = (all.count * percent + 99) / 100;
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i + 1 < durations::buckets; ++i) {
    seen += all.by_time[i];
    if (seen >= rank) return as_count(std::min(durations::lower_edge(i + 1), all.longest));
  }
  return as_count(all.longest);
}

void add_durations(lines& to, std::string const& name, durations const& all) {
  to.begin_group(name + '.');
  to.add("count", all.count);
  to.add("total_ns", as_count(all.total));
  to.add("p50_ns", all.count == 0 ? 0 : percentile(all, 50));
  to.add("p99_ns", all.count == 0 ? 0 : percentile(all, 99));
  to.add("longest_ns", as_count(all.longest));
}

void add_waits(lines& to, wait_stats const& waits) {
  std::string reason(waits.reason);
  std::replace(reason.begin(), reason.end(), ' ', '_');
  to.begin_group("waits." + reason + '.');
  to.add("count", waits.count);
  to.add("measured", waits.measured);
  to.add("time_ns", as_count(waits.time));
}

void add_proc(lines& to, proc_stats const& p, P const& its) {
  to.begin_group("procs." + std::to_string(p.id) + '.');
  to.add("in_use", p.in_use ? 1 : 0);
  M const* const m = m_seen_on(its);
  to.add("status", name_of(its.status.load(relaxed)));
  to.add("m", m != nullptr ? std::to_string(m->id) : "-");
  to.add("queued", p.queued);
  to.add("stacks_cached", p.stacks_cached);
  to.add("created", p.created);
  to.add("ended", p.ended);
  to.add("switches_direct", p.switches_direct);
  to.add("switches_via_g0", p.switches_via_g0);
  to.add("stack_handovers", p.stack_handovers);
  to.add("joined_in_place", p.joined_in_place);
  to.add("parks", p.parks);
  to.add("readies", p.readies);
  to.add("yields", p.yields);
  to.add("overflows", p.overflows);
  to.add("global_takes", p.global_takes);
  to.add("steals", p.steals);
  to.add("stolen", p.stolen);
  to.add("wakes", p.wakes);
  to.add("spins", p.spins);
  to.add("spinning_ns", p.spinning_ns);
  to.add("timers_run", p.timers_run);
  to.add("polls", p.polls);
  to.add("syscalls", p.syscalls);
  to.add("handed_off", p.handed_off);
  to.add("returns_to_idle", p.returns_to_idle);
  to.add("returns_queued", p.returns_queued);
  to.add("preempted", p.preempted);
}

void add_ms(lines& to, Sched& s) {
  std::array<int, m_statuses> counts{};
  int foreign = 0;
  {
    os::lock_guard const guard(s.lock);
    for (int i = 0; i < m_statuses; ++i) counts[static_cast<std::size_t>(i)] = s.ms.count(static_cast<m_status>(i));
    foreign = s.ms.foreign();
  }
  to.begin_group("threads.");
  to.add("from_outside", as_count(foreign));
  for (int i = 0; i < m_statuses; ++i) {
    auto const status = static_cast<m_status>(i);
    if (status == m_status::threadless) continue;  // these records have no thread, and are not counted
    std::string name = name_of(status);
    for (char& c : name) c = c == ' ' ? '_' : c;
    to.add(name, as_count(counts[static_cast<std::size_t>(i)]));
  }
}

}  // namespace

std::string stats_lines(Sched& s) {
  stats const now = read_stats_from_outside(s);
  lines to;
  to.add("time_ns", static_cast<std::uint64_t>(os::monotonic_ns()));
  to.begin_group("goroutines.");
  to.add("running", now.running);
  to.add("runnable", now.runnable);
  to.add("in_calls", now.in_calls);
  to.add("waiting", now.waiting);
  to.add("created", now.created);
  to.begin_group("");
  to.add("max_procs", as_count(s.procs.size()));
  to.add("idle_procs", as_count(now.idle_procs));
  to.add("global_queue", now.global_queue);
  to.add("threads", as_count(now.threads));
  to.add("idle_threads", as_count(now.idle_threads));
  to.add("spinning_threads", as_count(now.spinning_threads));
  to.add("paused_threads", as_count(now.paused_threads));
  add_ms(to, s);
  to.begin_group("");
  to.add("sysmon_looks", now.sysmon_looks);
  to.add("retaken", now.retaken);
  to.add("unannounced", now.unannounced);
  to.add("preemptions_asked", now.preemptions_asked);
  to.add("file_reads_waited", now.file_reads_waited);
  to.add("file_reads_handed_off", now.file_reads_handed_off);
  to.add("stacks_in_use", now.stacks_in_use);
  to.add("stacks_cached", now.stacks_cached);
  to.add("stacks_free", now.stacks_free);
  to.add("stacks_guarded", now.stacks_guarded);
  to.add("stacks_unguarded", now.stacks_unguarded);
  to.add("idle_time_ns", as_count(now.idle_time));
  for (wait_stats const& waits : now.waits) {
    if (waits.count != 0) add_waits(to, waits);
  }
  add_durations(to, "ready_to_run", now.ready_to_run);
  add_durations(to, "calls_took", now.calls_took);
  add_durations(to, "long_calls_took", now.long_calls_took);
  add_durations(to, "polls_took", now.polls_took);
  add_durations(to, "stopping_took", now.stopping_took);
  add_durations(to, "stopped_for", now.stopped_for);
  for (std::size_t i = 0; i < now.procs.size(); ++i) add_proc(to, now.procs[i], *s.procs[i]);
  return to.take();
}

}  // namespace thrum::rt
