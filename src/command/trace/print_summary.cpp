#include "command/trace/print_summary.h"

#include "command/trace/text.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <initializer_list>

namespace thrum::command {
namespace {

using ull = unsigned long long;

constexpr std::size_t columns_of_name = 44;
constexpr std::size_t columns_of_bar = 50;

double of(std::array<double, g_states> const& ns, g_state state) { return ns[static_cast<std::size_t>(state)]; }

std::string date(std::int64_t real_time_ns) {
  std::time_t const seconds = real_time_ns / 1'000'000'000;
  std::tm parts{};
  char result[40] = "";
  if (gmtime_r(&seconds, &parts) != nullptr) std::strftime(result, sizeof result, "%Y-%m-%d %H:%M:%S UTC", &parts);
  return result;
}

std::string right(std::string const& cell, std::size_t columns) {
  return cell.size() < columns ? std::string(columns - cell.size(), ' ') + cell : cell;
}

// A table of one wide column of names and narrow ones of numbers.
std::string row(std::string_view name, std::initializer_list<std::string> cells) {
  std::string line = "  " + fitted(name, columns_of_name);
  for (std::string const& each : cells) line += right(each, 11);
  return line + "\n";
}

std::string ns_cell(double ns) { return duration(ns); }
std::string ns_cell(std::int64_t ns) { return duration(static_cast<double>(ns)); }
std::string count_cell(std::uint64_t count) { return text("%llu", ull{count}); }

std::string row_of(std::string_view name, distribution const& of) {
  if (of.count == 0) return row(name, {"0", "-", "-", "-"});
  return row(name, {count_cell(of.count), ns_cell(of.p50_ns), ns_cell(of.p99_ns), ns_cell(of.worst_ns)});
}

std::string head(trace const& from, summary const& numbers) {
  file_header const& header = from.file.header;
  std::string result = text("process %u, %s, %s\n", header.process, date(header.real_time_ns).c_str(),
                            header.is_flight_record ? "written by the flight recorder" : "a whole trace");
  for (std::string const& each : from.notes()) result += "note: " + each + "\n";
  result += text("\n%s, %llu records, %zu Ps, %llu Ms\n", duration(static_cast<double>(numbers.duration_ns)).c_str(),
                 ull{numbers.records}, numbers.ps.size(), ull{numbers.ms});
  return result + text("%llu goroutines: %llu existed before the trace, %llu were created, %llu ended\n",
                       ull{numbers.goroutines}, ull{numbers.existed_before}, ull{numbers.created}, ull{numbers.ended});
}

std::string latency_part(summary const& numbers) {
  std::string result =
      "\nScheduling latency, from ready to start\n" + row("created at", {"times", "p50", "p99", "worst"});
  for (site_row const& each : numbers.sites) {
    if (each.latency.count != 0) result += row_of(each.name, each.latency);
  }
  result += row_of("all", numbers.latency);
  return result + row_of("all, from creation to the first start", numbers.first_start);
}

std::string times_part(summary const& numbers) {
  std::string result =
      "\nTime by state\n" + row("created at", {"goroutines", "running", "runnable", "waiting", "in call"});
  auto const cells = [](std::string_view name, std::uint64_t count, std::array<double, g_states> const& ns) {
    // A goroutine that hosts another one is on the CPU only as far as that one is, so its time counts as waiting.
    return row(name, {count_cell(count), ns_cell(of(ns, g_state::running)), ns_cell(of(ns, g_state::runnable)),
                      ns_cell(of(ns, g_state::waiting) + of(ns, g_state::hosting)), ns_cell(of(ns, g_state::in_call))});
  };
  for (site_row const& each : numbers.sites) result += cells(each.name, each.goroutines, each.ns);
  return result + cells("all", numbers.goroutines, numbers.ns);
}

std::string slices_part(summary const& numbers) {
  if (numbers.longest.empty()) return {};
  std::string result = "\nLongest time slices\n" + row("goroutine", {"length", "at", "P", "until"});
  for (slice_row const& each : numbers.longest) {
    std::string const p = each.p == no_p ? "-" : std::to_string(each.p);
    result += row(text("%llu ", ull{each.goroutine}) + each.name, {ns_cell(each.ns), ns_cell(each.begin_ns), p});
    result.insert(result.size() - 1, std::string("  ") + each.ended_by);
  }
  return result;
}

std::string blockers_part(summary const& numbers) {
  if (numbers.blockers.empty()) return {};
  std::string result =
      "\nWhat goroutines waited for\n" + row("reason and object", {"waits", "in sum", "longest", "unfinished"});
  for (blocker_row const& each : numbers.blockers) {
    std::string const object = name_of_object(each.reason, each.object);
    std::string const what = std::string(name_of_reason(each.reason)) + (object.empty() ? "" : " " + object);
    result +=
        row(what, {count_cell(each.waits), ns_cell(each.total_ns), ns_cell(each.longest_ns), count_cell(each.still)});
    result += text("    the longest by goroutine %llu, created at ", ull{each.longest_goroutine}) + each.example;
    if (each.longest_holder != 0) {
      result += text("; goroutine %llu, created at ", ull{each.longest_holder}) + each.holder + ", held it";
    }
    result += "\n";
  }
  return result;
}

std::string wakers_part(summary const& numbers) {
  if (numbers.wakers.empty()) return {};
  std::string result = "\nWho readied whom\n";
  for (waker_row const& each : numbers.wakers) {
    result += "  " + right(count_cell(each.times), 10) + "  " + each.waker + (each.at.empty() ? "" : " at " + each.at) +
              " -> " + each.woken + "\n";
  }
  return result;
}

std::string line(char const* name, std::string const& value) { return "  " + fitted(name, 22) + value + "\n"; }

std::string scheduler_part(summary const& numbers) {
  summary const& n = numbers;
  std::string result = "\nThe scheduler\n";
  result += line("readied", text("%llu to run next, %llu to the tail of a queue, %llu to the global queue",
                                 ull{n.readied_next}, ull{n.readied_tail}, ull{n.readied_global}));
  result += line("steals", text("%llu, of %llu goroutines", ull{n.steals}, ull{n.stolen}));
  result += line("searches", text("%llu, %llu of which found work", ull{n.spins}, ull{n.spins_with_work}));
  result +=
      line("calls", text("%llu: %llu announced as long, %llu found by sysmon; %llu came back and had to wait for a P",
                         ull{n.calls}, ull{n.calls_announced_long}, ull{n.calls_found}, ull{n.returns_without_p}));
  std::string hand_offs = text("%llu, %llu of them by sysmon", ull{n.hand_offs}, ull{n.hand_offs_by_sysmon});
  if (n.hand_off_delay.count != 0) {
    hand_offs += "; from call to release p50 " + ns_cell(n.hand_off_delay.p50_ns) + ", worst " +
                 ns_cell(n.hand_off_delay.worst_ns);
  }
  result += line("hand-offs", hand_offs);
  result += line("preemptions",
                 text("%llu asked for; %llu at a channel, %llu in the middle of code; %llu yields in all",
                      ull{n.preempt_requests}, ull{n.preempted_at_channels}, ull{n.preempted_in_code}, ull{n.yields}));
  std::string stops = count_cell(n.world_stops.count);
  if (n.world_stops.count != 0) stops += ", the longest of " + ns_cell(n.world_stops.worst_ns);
  result += line("stops of the world", stops);
  return result + line("timers and polls", text("%llu timers fired; %llu polls found %llu goroutines", ull{n.timers},
                                                ull{n.polls}, ull{n.polled}));
}

std::string ps_part(summary const& numbers) {
  if (numbers.ps.empty()) return {};
  std::string result = "\nThe Ps: # a goroutine runs, . an M holds the P\n";
  double const duration_ns = std::max<double>(static_cast<double>(numbers.duration_ns), 1);
  for (p_row const& each : numbers.ps) {
    double const running = std::clamp(each.running_ns / duration_ns, 0.0, 1.0);
    double const held = std::clamp(each.held_ns / duration_ns, running, 1.0);
    auto const columns = [](double share) { return static_cast<std::size_t>(std::lround(share * columns_of_bar)); };
    std::string bar(columns(running), '#');
    bar += std::string(columns(held) - bar.size(), '.');
    result += text("  P %-4u [%-*s] %8s  %llu slices, %llu steals\n", each.p, static_cast<int>(columns_of_bar),
                   bar.c_str(), percent(running).c_str(), ull{each.slices}, ull{each.steals});
  }
  return result;
}

}  // namespace

std::string printed(trace const& from, summary const& numbers) {
  return head(from, numbers) + latency_part(numbers) + times_part(numbers) + slices_part(numbers) +
         blockers_part(numbers) + wakers_part(numbers) + scheduler_part(numbers) + ps_part(numbers);
}

}  // namespace thrum::command
