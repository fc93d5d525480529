// The statistics in Prometheus' text exposition format. docs/stats.md lists the metrics.
#include "debug/hexadecimal.h"
#include "os/call_name.h"
#include <thrum/stats.h>

#include <charconv>
#include <string>
#include <string_view>

namespace thrum {
namespace {

enum class metric : std::uint8_t { gauge, counter, histogram };

class exposition {
 public:
  // Begins a metric. Its samples follow.
  void begin(metric type, std::string_view name, std::string_view help);

  void add(std::uint64_t value) { add({}, value); }
  // `labels` without the braces: reason="mutex"
  void add(std::string_view labels, std::uint64_t value) { add_sample({}, labels, std::to_string(value)); }
  void add(std::string_view labels, std::chrono::nanoseconds value) { add_sample({}, labels, seconds(value)); }
  // The samples of a histogram, and then its longest time as a metric of its own.
  void add_histogram(std::string_view name, std::string_view help, durations const& of);

  // A metric with one sample.
  template <class T>
  void gauge(std::string_view name, std::string_view help, T value) {
    begin(metric::gauge, name, help);
    add(static_cast<std::uint64_t>(value));
  }
  void total(std::string_view name, std::string_view help, std::uint64_t value) {
    begin(metric::counter, name, help);
    add(value);
  }
  void seconds_total(std::string_view name, std::string_view help, std::uint64_t ns) {
    begin(metric::counter, name, help);
    add({}, std::chrono::nanoseconds(ns));
  }

  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  static std::string seconds(std::chrono::nanoseconds time);
  void add_sample(std::string_view suffix, std::string_view labels, std::string_view value);

  std::string_view name_;
  std::string text_;
};

void exposition::begin(metric type, std::string_view name, std::string_view help) {
  constexpr std::string_view types[] = {"gauge", "counter", "histogram"};
  name_ = name;
  text_.append("# HELP ").append(name).append(" ").append(help).append("\n");
  text_.append("# TYPE ").append(name).append(" ").append(types[static_cast<std::size_t>(type)]).append("\n");
}

void exposition::add_sample(std::string_view suffix, std::string_view labels, std::string_view value) {
  text_.append(name_).append(suffix);
  if (!labels.empty()) text_.append("{").append(labels).append("}");
  text_.append(" ").append(value).append("\n");
}

// The shortest number that is read as the same one. Not by printf, which would write the decimal point of the locale.
std::string exposition::seconds(std::chrono::nanoseconds time) {
  char digits[32];
  auto const end = std::to_chars(digits, digits + sizeof digits, std::chrono::duration<double>(time).count()).ptr;
  return {digits, end};
}

// One bucket for each power of two, which is a quarter of those that there are: up to 69 s, and one for longer times.
void exposition::add_histogram(std::string_view name, std::string_view help, durations const& of) {
  constexpr std::size_t parts = 4;
  constexpr std::size_t edges = 29;
  begin(metric::histogram, name, help);
  std::uint64_t below = 0;
  for (std::size_t edge = 1; edge <= edges; ++edge) {
    for (std::size_t i = (edge - 1) * parts; i < edge * parts; ++i) below += of.by_time[i];
    std::string const upper = seconds(durations::lower_edge(edge * parts));
    add_sample("_bucket", std::string("le=\"").append(upper).append("\""), std::to_string(below));
  }
  add_sample("_bucket", "le=\"+Inf\"", std::to_string(of.count));
  add_sample("_sum", {}, seconds(of.total));
  add_sample("_count", {}, std::to_string(of.count));
  std::string const longest = std::string(name).append("_longest");
  begin(metric::gauge, longest, "The longest time in the histogram of the same name.");
  add({}, of.longest);
}

std::string label(std::string_view name, std::string_view value) {
  return std::string(name).append("=\"").append(value).append("\"");
}

void add_gauges(stats const& of, exposition& out) {
  std::uint64_t in_use = 0;
  for (proc_stats const& p : of.procs) in_use += p.in_use ? 1 : 0;
  out.begin(metric::gauge, "thrum_goroutines", "Goroutines by state.");
  out.add(label("state", "running"), of.running);
  out.add(label("state", "runnable"), of.runnable);
  out.add(label("state", "in_call"), of.in_calls);
  out.add(label("state", "waiting"), of.waiting);
  out.gauge("thrum_procs", "Ps in use: how many goroutines can run at the same time.", in_use);
  out.gauge("thrum_idle_procs", "Ps that no thread uses.", of.idle_procs);
  out.gauge("thrum_global_queue_length", "Goroutines in the global queue.", of.global_queue);
  out.begin(metric::gauge, "thrum_run_queue_length", "Goroutines in the run queue of a P.");
  for (proc_stats const& p : of.procs) {
    if (p.in_use) out.add(label("proc", std::to_string(p.id)), p.queued);
  }
  out.gauge("thrum_threads", "OS threads of the scheduler.", of.threads);
  out.gauge("thrum_idle_threads", "Threads that rest.", of.idle_threads);
  out.gauge("thrum_spinning_threads", "Threads that search for work.", of.spinning_threads);
  out.gauge("thrum_paused_threads", "Threads that sleep in user code until the next slice of their goroutine.",
            of.paused_threads);
  out.begin(metric::gauge, "thrum_stacks", "Stacks by use.");
  out.add(label("state", "in_use"), of.stacks_in_use);
  out.add(label("state", "cached"), of.stacks_cached);
  out.add(label("state", "free"), of.stacks_free);
  out.gauge("thrum_guarded_stacks", "Stacks with a guard.", of.stacks_guarded);
  out.gauge("thrum_unguarded_stacks", "Stacks without a guard.", of.stacks_unguarded);
}

// The sums over all Ps.
void add_sums(proc_stats const& sum, exposition& out) {
  out.total("thrum_goroutines_created_total", "Goroutines created.", sum.created);
  out.total("thrum_goroutines_ended_total", "Goroutines that have ended.", sum.ended);
  out.begin(metric::counter, "thrum_switches_total", "Times that a goroutine began or went on to run.");
  out.add(label("kind", "direct"), sum.switches_direct);
  out.add(label("kind", "via_g0"), sum.switches_via_g0);
  out.add(label("kind", "stack_handover"), sum.stack_handovers);
  out.total("thrum_joined_in_place_total", "Children that ran on the stack of the goroutine that joined them.",
            sum.joined_in_place);
  out.total("thrum_parks_total", "Times that a goroutine began to wait.", sum.parks);
  out.total("thrum_readies_total", "Times that a waiting goroutine became runnable.", sum.readies);
  out.total("thrum_yields_total", "Calls of yield that let others run.", sum.yields);
  out.total("thrum_run_queue_overflows_total", "Times that a full run queue sent its half to the global queue.",
            sum.overflows);
  out.total("thrum_global_queue_takes_total", "Goroutines taken from the global queue.", sum.global_takes);
  out.total("thrum_steals_total", "Steals from run queues of other Ps.", sum.steals);
  out.total("thrum_stolen_goroutines_total", "Goroutines that steals brought.", sum.stolen);
  out.total("thrum_proc_wakes_total", "Idle Ps that were woken.", sum.wakes);
  out.total("thrum_searches_total", "Searches for work.", sum.spins);
  out.seconds_total("thrum_searching_seconds_total", "How long the searches took.", sum.spinning_ns);
  out.total("thrum_timers_run_total", "Goroutines woken from sleep, and timers fired.", sum.timers_run);
  out.total("thrum_polls_total", "Polls of descriptors without blocking.", sum.polls);
  out.total("thrum_calls_total", "Times that a goroutine left its P for a call.", sum.syscalls);
  out.total("thrum_calls_handed_off_total", "Those of them that gave the P away at once.", sum.handed_off);
  out.begin(metric::counter, "thrum_call_returns_without_proc_total", "Returns from a call whose P was taken.");
  out.add(label("to", "idle_proc"), sum.returns_to_idle);
  out.add(label("to", "queue"), sum.returns_queued);
  out.total("thrum_preemptions_total", "Goroutines that were preempted.", sum.preempted);
}

proc_stats sum_of(std::vector<proc_stats> const& procs) {
  proc_stats sum;
  for (proc_stats const& p : procs) {
    for (auto const member : {&proc_stats::created,         &proc_stats::ended,           &proc_stats::switches_direct,
                              &proc_stats::switches_via_g0, &proc_stats::stack_handovers, &proc_stats::joined_in_place,
                              &proc_stats::parks,           &proc_stats::readies,         &proc_stats::yields,
                              &proc_stats::overflows,       &proc_stats::global_takes,    &proc_stats::steals,
                              &proc_stats::stolen,          &proc_stats::wakes,           &proc_stats::spins,
                              &proc_stats::spinning_ns,     &proc_stats::timers_run,      &proc_stats::polls,
                              &proc_stats::syscalls,        &proc_stats::handed_off,      &proc_stats::returns_to_idle,
                              &proc_stats::returns_queued,  &proc_stats::preempted}) {
      sum.*member += p.*member;
    }
  }
  return sum;
}

void add_waits(stats const& of, exposition& out) {
  auto const add_each = [&](std::string_view name, std::string_view help, auto value) {
    out.begin(metric::counter, name, help);
    for (wait_stats const& waits : of.waits) {
      if (*waits.reason != '\0') out.add(label("reason", waits.reason), value(waits));
    }
  };
  add_each("thrum_waits_total", "Waits of goroutines that have begun.", [](wait_stats const& w) { return w.count; });
  add_each("thrum_measured_waits_total", "Waits that have ended and were measured.",
           [](wait_stats const& w) { return w.measured; });
  add_each("thrum_wait_seconds_total", "How long the measured waits took.", [](wait_stats const& w) { return w.time; });
}

void add_totals(stats const& of, exposition& out) {
  out.begin(metric::counter, "thrum_idle_seconds_total", "How long Ps were idle, summed up over all Ps.");
  out.add({}, of.idle_time);
  out.total("thrum_sysmon_looks_total", "Times that sysmon has examined the Ps.", of.sysmon_looks);
  out.total("thrum_procs_retaken_total", "Ps that sysmon took from announced calls.", of.retaken);
  out.total("thrum_unannounced_calls_total", "Ps that sysmon took from calls that were not announced.", of.unannounced);
  out.begin(metric::counter, "thrum_unannounced_call_places_total",
            "The same by system call and place in the program, for the first 32 places.");
  for (unannounced_call const& call : of.unannounced_calls) {
    char const* const name = rt::os::name_of_call(call.system_call);
    std::string labels = label("system_call", name != nullptr ? name : std::to_string(call.system_call)) + ',';
    labels += label("caller", rt::hexadecimal(reinterpret_cast<std::uintptr_t>(call.caller)));
    out.add(labels, call.count);
  }
  out.total("thrum_preemption_signals_total", "Signals sent to end time slices or to stop the world.",
            of.preemptions_asked);
  out.begin(metric::counter, "thrum_file_reads_total", "Reads of files that had to wait for the disk.");
  out.add(label("how", "without_thread"), of.file_reads_waited);
  out.add(label("how", "with_thread"), of.file_reads_handed_off);
}

void add_histograms(stats const& of, exposition& out) {
  out.add_histogram("thrum_ready_to_run_seconds",
                    "How long goroutines waited between becoming runnable and running. A sample.", of.ready_to_run);
  out.add_histogram("thrum_call_seconds", "How long announced calls took that were not declared long. A sample.",
                    of.calls_took);
  out.add_histogram("thrum_long_call_seconds", "How long announced calls took that were declared long.",
                    of.long_calls_took);
  out.add_histogram("thrum_poll_seconds", "How long polls of descriptors without blocking took. A sample.",
                    of.polls_took);
  out.add_histogram("thrum_world_stopping_seconds", "How long it took until all Ps had stopped.", of.stopping_took);
  out.add_histogram("thrum_world_stopped_seconds", "How long it took until all Ps were started again.", of.stopped_for);
}

}  // namespace

std::string prometheus_text(stats const& of) {
  exposition out;
  add_gauges(of, out);
  add_sums(sum_of(of.procs), out);
  add_waits(of, out);
  add_totals(of, out);
  add_histograms(of, out);
  return out.take();
}

}  // namespace thrum
