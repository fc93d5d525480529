#include "command/top/view.h"

#include "command/trace/text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <utility>

namespace thrum::command {
namespace {

using look = top_line::look;

constexpr std::size_t ps_rows_min = 4;
constexpr std::size_t columns_before_place = 60;

std::string_view take_field(std::string_view& line) {
  std::size_t const end = std::min(line.find('\t'), line.size());
  std::string_view const field = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return field;
}

template <class T>
T number_in(std::string_view field) {
  T value = 0;
  std::from_chars(field.data(), field.data() + field.size(), value);
  return value;
}

std::string in_lower_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// "12", "3.4k", "5.6M"
std::string short_number(double value) {
  if (value >= 999'950) return text("%.1fM", value / 1e6);
  if (value >= 9'999.5) return text("%.1fk", value / 1e3);
  return text("%.0f", value);
}

// A character takes one column.
std::string cut_at_the_end(std::string line, std::size_t columns) {
  auto const begins_character = [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; };
  std::size_t characters = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (!begins_character(line[i])) continue;
    if (characters++ == columns) return line.substr(0, i);
  }
  return line;
}

bool comes_before(top_group const& a, top_group const& b, top_order order) {
  switch (order) {
    case top_order::longest: return a.longest_ns > b.longest_ns;
    case top_order::state: return std::pair(a.state, a.reason) < std::pair(b.state, b.reason);
    case top_order::place: return a.place < b.place;
    case top_order::count: break;
  }
  return a.count > b.count;
}

}  // namespace

std::vector<top_group> groups_of(std::string_view answer) {
  std::vector<top_group> groups;
  while (!answer.empty()) {
    std::size_t const end = std::min(answer.find('\n'), answer.size());
    std::string_view line = answer.substr(0, end);
    answer.remove_prefix(std::min(end + 1, answer.size()));
    top_group& group = groups.emplace_back();
    group.count = number_in<std::uint64_t>(take_field(line));
    group.state = clean_text(take_field(line));
    group.reason = clean_text(take_field(line));
    group.longest_ns = number_in<std::int64_t>(take_field(line));
    group.place = clean_text(line);
  }
  return groups;
}

char const* name_of(top_order order) {
  switch (order) {
    case top_order::count: return "number";
    case top_order::longest: return "longest wait";
    case top_order::state: return "state";
    case top_order::place: break;
  }
  return "place";
}

top_order next(top_order order) {
  return order == top_order::place ? top_order::count : static_cast<top_order>(static_cast<unsigned char>(order) + 1);
}

void top_view::take(figures now, std::vector<top_group> groups) {
  before_ = std::exchange(now_, std::move(now));
  sums_before_ = std::exchange(sums_, now_.with_sums_of_procs());
  groups_ = std::move(groups);
}

void top_view::scroll(long by) {
  if (by < 0) {
    skipped_ -= std::min(skipped_, static_cast<std::size_t>(-by));
  } else {
    skipped_ = std::min(skipped_ + static_cast<std::size_t>(by), found_groups().size());
  }
}

std::vector<top_group> top_view::found_groups() const {
  std::string const wanted = in_lower_case(search_);
  std::vector<top_group> found;
  for (top_group const& group : groups_) {
    std::string const all = in_lower_case(group.state + '\t' + group.reason + '\t' + group.place);
    if (all.find(wanted) != std::string::npos) found.push_back(group);
  }
  std::stable_sort(found.begin(), found.end(),
                   [&](top_group const& a, top_group const& b) { return comes_before(a, b, order_); });
  return found;
}

void top_view::add_summary(std::vector<top_line>& to) const {
  auto const is = [&](char const* name) { return static_cast<unsigned long long>(now_.number(name)); };
  auto const per_s = [&](char const* name) { return short_number(rate(sums_before_, sums_, name)); };
  auto const time = [&](char const* name) { return duration(static_cast<double>(now_.number(name))); };
  std::uint64_t const all =
      is("goroutines.running") + is("goroutines.runnable") + is("goroutines.in_calls") + is("goroutines.waiting");
  to.push_back({text("goroutines %llu: %llu running, %llu runnable, %llu in calls, %llu waiting; %s/s created",
                     static_cast<unsigned long long>(all), is("goroutines.running"), is("goroutines.runnable"),
                     is("goroutines.in_calls"), is("goroutines.waiting"), per_s("goroutines.created").c_str())});
  to.push_back({text("threads %llu: %llu idle, %llu search for work, %llu paused; %llu from outside", is("threads"),
                     is("idle_threads"), is("spinning_threads"), is("paused_threads"), is("threads.from_outside"))});
  to.push_back(
      {text("Ps %llu: %llu idle; %llu goroutines in the global queue, %llu in those of the Ps", is("max_procs"),
            is("idle_procs"), is("global_queue"), static_cast<unsigned long long>(sums_.number("procs.queued")))});
  to.push_back({"per second: " + per_s("procs.parks") + " parks, " + per_s("procs.readies") + " readies, " +
                per_s("procs.steals") + " steals, " + per_s("procs.wakes") + " wake-ups, " + per_s("procs.syscalls") +
                " calls, " + per_s("retaken") + " hand-offs, " + per_s("procs.preempted") + " preemptions"});
  to.push_back({"from ready to running: half within " + time("ready_to_run.p50_ns") + ", 99 % within " +
                time("ready_to_run.p99_ns") + ", longest " + time("ready_to_run.longest_ns") +
                "; stops of the world: longest " + time("stopped_for.longest_ns")});
}

void top_view::add_ps(std::vector<top_line>& to, std::size_t rows) const {
  to.push_back({text("%4s %-8s %5s %7s %11s %9s %9s %9s %9s %9s", "P", "state", "M", "queued", "switches/s", "parks/s",
                     "readies/s", "steals/s", "calls/s", "searches"),
                look::heading});
  auto const procs = static_cast<std::size_t>(now_.number("max_procs"));
  std::size_t const shown = std::min(procs, rows);
  for (std::size_t p = 0; p < shown; ++p) {
    std::string const prefix = "procs." + std::to_string(p) + '.';
    auto const per_s = [&](char const* name) { return rate(before_, now_, prefix + name); };
    double const switches = per_s("switches_direct") + per_s("switches_via_g0") + per_s("stack_handovers");
    std::string const searching = percent(per_s("spinning_ns") / 1e9);
    to.push_back({text(
        "%4zu %-8s %5s %7llu %11s %9s %9s %9s %9s %9s", p, std::string(now_.word(prefix + "status")).c_str(),
        std::string(now_.word(prefix + "m")).c_str(), static_cast<unsigned long long>(now_.number(prefix + "queued")),
        short_number(switches).c_str(), short_number(per_s("parks")).c_str(), short_number(per_s("readies")).c_str(),
        short_number(per_s("steals")).c_str(), short_number(per_s("syscalls")).c_str(), searching.c_str())});
  }
  if (shown < procs) to.push_back({text("     and %zu more", procs - shown)});
}

void top_view::add_groups(std::vector<top_line>& to, std::size_t rows, std::size_t columns) const {
  to.push_back(
      {text("%9s %-9s %-24s %12s  %s", "number", "state", "waits for", "longest", "created at"), look::heading});
  std::vector<top_group> const found = found_groups();
  for (std::size_t i = skipped_; i < found.size() && i < skipped_ + rows; ++i) {
    top_group const& group = found[i];
    std::string const longest = group.longest_ns > 0 ? duration(static_cast<double>(group.longest_ns)) : "";
    to.push_back({text("%9llu %-9s %-24s %12s  ", static_cast<unsigned long long>(group.count), group.state.c_str(),
                       group.reason.c_str(), longest.c_str()) +
                  fitted(group.place, columns > columns_before_place ? columns - columns_before_place : 0)});
  }
}

std::vector<top_line> top_view::lines(std::size_t rows, std::size_t columns) const {
  std::vector<top_line> all;
  std::string title = "thrum top - " + name_ + ", sorted by " + name_of(order_);
  if (!search_.empty()) title += ", only with \"" + search_ + '"';
  all.push_back({title, look::title});
  add_summary(all);
  std::size_t const fixed = all.size() + 3;  // two headings and "and 3 more"
  std::size_t const left = rows > fixed ? rows - fixed : 0;
  if (shows_ps_) add_ps(all, std::max(ps_rows_min, left / 3));
  add_groups(all, rows > all.size() + 1 ? rows - all.size() - 1 : 0, columns);
  if (all.size() > rows) all.resize(rows);
  for (top_line& each : all) each.text = cut_at_the_end(std::move(each.text), columns);
  return all;
}

}  // namespace thrum::command
