#include "command/trace/summarise.h"

#include "command/trace/names.h"
#include "command/trace/summary_of_events.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace thrum::command {
namespace {

std::size_t place(g_state state) noexcept { return static_cast<std::size_t>(state); }

char const* how_it_ended(g_interval const& slice) noexcept {
  switch (slice.ended_by) {
    case record_kind::stop: return name_of_reason(slice.end_detail);
    case record_kind::none: return "the trace ended";
    case record_kind::yield: return slice.end_detail == 0 ? "yield" : slice.end_detail == 3 ? "made way" : "preempted";
    default: return format_of(slice.ended_by)->name;
  }
}

template <class Row, class Value>
void keep_largest(std::vector<Row>& rows, std::size_t rows_max, Value value) {
  std::stable_sort(rows.begin(), rows.end(), [&](Row const& a, Row const& b) { return value(a) > value(b); });
  if (rows.size() > rows_max) rows.resize(rows_max);
}

template <class Map>
auto values_of(Map&& map) {
  std::vector<typename std::decay_t<Map>::mapped_type> values;
  values.reserve(map.size());
  for (auto& [key, value] : map) values.push_back(std::move(value));
  return values;
}

class summariser {
 public:
  summariser(trace const& from, std::size_t rows_max)
      : from_(from), past_(from.past), rows_max_(rows_max), names_(from.file, from.past) {}

  summary run() {
    count_goroutines();
    for (g_interval const& each : past_.intervals) add(each);
    add_ps();
    add_events(from_, result_);
    finish();
    return std::move(result_);
  }

 private:
  struct site {
    site_row row;
    std::vector<std::int64_t> latencies, first_starts;
  };

  // Goroutines that existed before the trace have no site, and are together in one row.
  site& site_of(goroutine_life const& goroutine) {
    return sites_[goroutine.was_created ? goroutine.site : created_before];
  }

  void count_goroutines() {
    for (goroutine_life const& each : past_.goroutines) {
      (each.was_created ? result_.created : result_.existed_before) += 1;
      result_.ended += each.has_ended ? 1 : 0;
      site_row& row = site_of(each).row;
      ++row.goroutines;
      row.site = each.site;
      row.name = names_.of_creation(each);
    }
    result_.goroutines = past_.goroutines.size();
  }

  void add(g_interval const& each) {
    goroutine_life const& goroutine = past_.goroutines[each.goroutine];
    site& of = site_of(goroutine);
    of.row.ns[place(each.state)] += static_cast<double>(each.ns());
    if (each.state == g_state::running) add_slice(each, of);
    if (each.state == g_state::waiting && each.begun_by == record_kind::stop) add_wait(each, goroutine);
    if (each.begun_by == record_kind::ready)
      ++wakers_[{&names_.of_waker(each.object), &names_.of_site(each.site), &names_.of_creation(goroutine)}];
    if (each.state == g_state::runnable && each.ended_by == record_kind::start) {
      if (each.begun_by == record_kind::ready) of.latencies.push_back(each.ns());
      if (each.begun_by == record_kind::create) of.first_starts.push_back(each.ns());
    }
  }

  void add_slice(g_interval const& each, site& of) {
    ++of.row.slices;
    slices_.push_back(&each);
    if (slices_.size() > 2 * slices_kept_max) drop_short_slices();
    if (each.p == no_p) return;
    p_row& p = ps_[each.p];
    ++p.slices;
    p.running_ns += static_cast<double>(each.ns());
  }

  void drop_short_slices() {
    std::stable_sort(slices_.begin(), slices_.end(), [](auto a, auto b) { return a->ns() > b->ns(); });
    slices_.resize(std::min(slices_.size(), slices_kept_max));
  }

  void add_wait(g_interval const& each, goroutine_life const& goroutine) {
    auto const [found, is_new] = blockers_.try_emplace({each.detail, each.object});
    blocker_row& row = found->second;
    if (is_new) {
      row.reason = each.detail;
      row.object = each.object;
    }
    ++row.waits;
    row.still += each.ended_by == record_kind::none ? 1 : 0;
    row.total_ns += static_cast<double>(each.ns());
    if (is_new || each.ns() > row.longest_ns) {
      row.longest_ns = each.ns();
      row.example = names_.of_creation(goroutine);
      row.longest_goroutine = goroutine.number;
      row.longest_holder = each.holder;
      row.holder = each.holder == 0 ? "" : names_.of_waker(each.holder);
    }
  }

  void add_ps() {
    for (auto const& [number, each] : from_.file.streams) {
      if (number < first_stream_without_p) ps_[number].p = number;
    }
    for (p_interval const& each : past_.p_intervals) ps_[each.p].held_ns += static_cast<double>(each.end - each.begin);
  }

  void finish() {
    result_.duration_ns = past_.end - past_.begin;
    result_.records = from_.merged.events.size();
    std::vector<std::int64_t> latencies, first_starts;
    for (auto& [number, each] : sites_) {
      latencies.insert(latencies.end(), each.latencies.begin(), each.latencies.end());
      first_starts.insert(first_starts.end(), each.first_starts.begin(), each.first_starts.end());
      each.row.latency = distribution_of(std::move(each.latencies));
      each.row.first_start = distribution_of(std::move(each.first_starts));
      for (std::size_t i = 0; i < g_states; ++i) result_.ns[i] += each.row.ns[i];
      result_.sites.push_back(std::move(each.row));
    }
    result_.latency = distribution_of(std::move(latencies));
    result_.first_start = distribution_of(std::move(first_starts));
    keep_largest(result_.sites, rows_max_, [](site_row const& row) { return row.ns[place(g_state::running)]; });

    result_.blockers = values_of(blockers_);
    keep_largest(result_.blockers, rows_max_, [](blocker_row const& row) { return row.total_ns; });
    finish_wakers();
    finish_slices();
    for (auto& [number, each] : ps_) {
      each.steals = result_.steals_of[number].first;
      each.stolen = result_.steals_of[number].second;
      result_.ps.push_back(each);
    }
  }

  void finish_wakers() {
    std::map<std::tuple<std::string, std::string, std::string>, std::uint64_t> by_text;
    for (auto const& [who, times] : wakers_) by_text[{*who[0], *who[1], *who[2]}] += times;
    for (auto const& [who, times] : by_text)
      result_.wakers.push_back({std::get<0>(who), std::get<1>(who), std::get<2>(who), times});
    keep_largest(result_.wakers, rows_max_, [](waker_row const& row) { return row.times; });
  }

  void finish_slices() {
    drop_short_slices();
    for (g_interval const* const each : slices_) {
      if (result_.longest.size() == rows_max_) break;
      goroutine_life const& goroutine = past_.goroutines[each->goroutine];
      result_.longest.push_back({goroutine.number, names_.of_goroutine(goroutine), each->p, each->begin - past_.begin,
                                 each->ns(), how_it_ended(*each)});
    }
  }

  static constexpr std::size_t slices_kept_max = 1000;
  // No address of code.
  static constexpr std::uint64_t created_before = ~std::uint64_t{0};

  trace const& from_;
  history const& past_;
  std::size_t rows_max_;
  names names_;
  summary result_;
  std::map<std::uint64_t, site> sites_;
  std::map<std::pair<std::uint8_t, std::uint64_t>, blocker_row> blockers_;
  // By the names of the waker, the place and the goroutine. Several places may have one name.
  std::map<std::array<std::string const*, 3>, std::uint64_t> wakers_;
  std::map<std::uint16_t, p_row> ps_;
  std::vector<g_interval const*> slices_;
};

}  // namespace

summary summarise(trace const& from, std::size_t rows_max) { return summariser(from, rows_max).run(); }

}  // namespace thrum::command
