#include "command/trace/trace.h"

#include "command/trace/gaps.h"
#include "command/trace/text.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace thrum::command {
namespace {

using ull = unsigned long long;

// A flight record that was cut off may not tell from when on it is complete. Then this is when the last of its streams
// begins.
std::int64_t begin_of_last_stream(trace_file& file) {
  std::int64_t begin = std::numeric_limits<std::int64_t>::min();
  for (auto& [number, each] : file.streams) {
    if (each.first_block == 0 || each.records.size() == each.records_before_gap) continue;
    begin = std::max(begin, each.records[each.records_before_gap].ns);
  }
  return begin;
}

// Leaves out the records from before the moment from which a flight record is complete, because events between them are
// missing.
void leave_out_what_is_incomplete(trace_file& file) {
  if (!file.header.is_flight_record) return;
  if (!file.complete_from) file.complete_from = begin_of_last_stream(file);
  std::int64_t const begin = *file.complete_from;
  for (auto& [number, each] : file.streams) {
    bool const has_gap = each.records_before_gap != 0;
    if (has_gap && each.records[each.records_before_gap - 1].ns > begin + gap_rules::counters_differ_max_ns) {
      file.violations.add([stream = number, block = each.first_block] {
        return text("blocks of stream %u are missing before block %u, and the file claims to be complete there", stream,
                    block);
      });
    }
    file.left_out += std::erase_if(each.records, [&](record const& r) { return r.ns < begin; });
  }
}

// Within the stream of a P the times may go back as far as the counters of two processors differ.
constexpr std::int64_t step_back_max_ns = 1'000'000;

void check_times(trace_file& file) {
  for (auto const& [number, each] : file.streams) {
    if (number >= first_stream_without_p) continue;
    for (std::size_t i = 1; i < each.records.size(); ++i) {
      record const& now = each.records[i];
      std::int64_t const back = each.records[i - 1].ns - now.ns;
      if (back <= step_back_max_ns) continue;
      file.violations.add([&] {
        return text("stream %u: the record at byte %llu is %s older than the record before it", now.stream,
                    ull{file.byte_of(now)}, duration(static_cast<double>(back)).c_str());
      });
    }
  }
}

// No goroutine runs on a P while another one runs there. The times of two processors differ, so the two may overlap a
// little.
void check_ps(trace_file& file, history const& past) {
  struct last {
    std::int64_t end;
    std::uint32_t goroutine;
  };
  std::vector<g_interval const*> slices;
  for (g_interval const& each : past.intervals) {
    if (each.state == g_state::running && each.p != no_p) slices.push_back(&each);
  }
  std::stable_sort(slices.begin(), slices.end(), [](auto a, auto b) { return a->begin < b->begin; });
  std::unordered_map<std::uint16_t, last> on;
  for (g_interval const* const each : slices) {
    auto const [found, is_first] = on.try_emplace(each->p, last{each->end, each->goroutine});
    if (is_first) continue;
    last& before = found->second;
    std::int64_t const overlap = std::min(before.end, each->end) - each->begin;
    // An end that no record names is not known.
    if (overlap > step_back_max_ns && each->ended_by != record_kind::none) {
      file.violations.add([&] {
        return text("P %u runs the goroutines %llu and %llu at the same time, for %s", each->p,
                    ull{past.goroutines[before.goroutine].number}, ull{past.goroutines[each->goroutine].number},
                    duration(static_cast<double>(overlap)).c_str());
      });
    }
    if (each->end > before.end) before = {each->end, each->goroutine};
  }
}

}  // namespace

std::vector<std::string> trace::notes() const {
  std::vector<std::string> notes;
  if (!file.damage.empty()) notes.push_back(file.damage);
  if (!file.cut_off.empty()) notes.push_back(file.cut_off);
  if (file.lost_events != 0) {
    notes.push_back(
        text("%llu events were lost, because the program had no memory free for them", ull{file.lost_events}));
  }
  if (file.lost_blocks != 0) notes.push_back(text("%llu blocks are missing", ull{file.lost_blocks}));
  if (file.left_out != 0) {
    notes.push_back(text(
        "%llu records are left out, because they are from before the time from which the flight record is complete",
        ull{file.left_out}));
  }
  if (past.missing_records != 0) {
    notes.push_back(text("%llu records about goroutines and Ms are missing because of that, so their times have gaps",
                         ull{past.missing_records}));
  }
  if (file.unknown_records + file.unknown_blocks != 0) {
    notes.push_back(text("%llu records and %llu blocks are of kinds that this program does not know, and were skipped",
                         ull{file.unknown_records}, ull{file.unknown_blocks}));
  }
  if (violations().count() != 0) {
    notes.push_back(text("the file contradicts its format in %llu places: `thrum trace --check` lists them",
                         ull{violations().count()}));
  }
  return notes;
}

trace analyse(trace_file file) {
  trace result;
  result.file = std::move(file);
  leave_out_what_is_incomplete(result.file);
  result.merged = merge(result.file, result.file.violations);
  result.past = replay(result.file, result.merged.events, result.file.violations);
  check_times(result.file);
  if (!result.file.has_losses()) check_ps(result.file, result.past);
  return result;
}

}  // namespace thrum::command
