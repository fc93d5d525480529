#include "command/target/figures.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace thrum::command {
namespace {

constexpr std::string_view procs_prefix = "procs.";

std::string_view last_part(std::string_view name) { return name.substr(name.rfind('.') + 1); }

std::uint64_t number_of(std::string_view text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

figures::figures(std::string_view answer) {
  while (!answer.empty()) {
    std::size_t const end = std::min(answer.find('\n'), answer.size());
    std::string_view const line = answer.substr(0, end);
    answer.remove_prefix(std::min(end + 1, answer.size()));
    std::size_t const blank = line.find(' ');
    if (blank == std::string_view::npos) continue;
    all_.emplace_back(line.substr(0, blank), line.substr(blank + 1));
  }
}

std::string_view figures::word(std::string_view name) const {
  auto const found = std::find_if(all_.begin(), all_.end(), [&](entry const& e) { return e.first == name; });
  return found != all_.end() ? std::string_view(found->second) : std::string_view{};
}

std::uint64_t figures::number(std::string_view name) const { return number_of(word(name)); }

figures figures::with_sums_of_procs() const {
  figures result;
  std::vector<std::pair<std::string_view, std::uint64_t>> sums;
  for (entry const& e : all_) {
    if (!e.first.starts_with(procs_prefix)) {
      result.all_.push_back(e);
      continue;
    }
    std::string_view const part = last_part(e.first);
    if (!is_number(e.second) || part == "in_use" || part == "m") continue;
    auto const found = std::find_if(sums.begin(), sums.end(), [&](auto const& sum) { return sum.first == part; });
    auto& sum = found != sums.end() ? *found : sums.emplace_back(part, 0);
    sum.second += number_of(e.second);
  }
  for (auto const& [part, sum] : sums) {
    std::string name(procs_prefix);
    name += part;
    result.all_.emplace_back(std::move(name), std::to_string(sum));
  }
  return result;
}

bool is_number(std::string_view value) {
  return !value.empty() && value.find_first_not_of("0123456789") == std::string_view::npos;
}

bool is_counter(std::string_view name) {
  static constexpr std::array gauges{"in_use", "status", "m", "queued", "stacks_cached"};
  static constexpr std::array counters{"goroutines.created",   "sysmon_looks",      "retaken",
                                       "unannounced",          "preemptions_asked", "file_reads_waited",
                                       "file_reads_handed_off"};
  std::string_view const part = last_part(name);
  if (name.starts_with(procs_prefix)) return std::find(gauges.begin(), gauges.end(), part) == gauges.end();
  return part == "count" || part == "total_ns" || std::find(counters.begin(), counters.end(), name) != counters.end();
}

double rate(figures const& before, figures const& now, std::string_view name) {
  std::uint64_t const from_ns = before.number("time_ns");
  std::uint64_t const to_ns = now.number("time_ns");
  std::uint64_t const from = before.number(name);
  std::uint64_t const to = now.number(name);
  if (to_ns <= from_ns || to <= from) return 0;
  return static_cast<double>(to - from) * 1e9 / static_cast<double>(to_ns - from_ns);
}

}  // namespace thrum::command
