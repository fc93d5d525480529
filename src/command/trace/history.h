// What each goroutine, M and P did, as intervals of time. The summary, the picture and the Perfetto file are made of
// it.
//
// An interval lies between two records. The first one of a goroutine that existed before the trace reaches back to the
// beginning of the trace (begun_by is `none`), and one that no record ends reaches to the end (ended_by is `none`).
#pragma once

#include "command/trace/merge.h"
#include "command/trace/trace_file.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace thrum::command {

inline constexpr std::uint16_t no_p = first_stream_without_p;

struct g_interval {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  // What the goroutine waits for; the waker of a runnable one; the child of a hosting one; otherwise 0.
  std::uint64_t object = 0;
  std::uint64_t site = 0;       // where it was readied, or where the call is
  std::uint64_t holder = 0;     // the goroutine that held the lock for which a waiting one began to wait; 0: not known
  std::uint32_t goroutine = 0;  // the place in history::goroutines
  std::uint16_t p = no_p;       // of a running one
  g_state state = g_state::unknown;
  std::uint8_t detail = 0;  // of the record that begins it, so the reason of a waiting one
  record_kind begun_by = record_kind::none;
  record_kind ended_by = record_kind::none;
  std::uint8_t end_detail = 0;

  [[nodiscard]] std::int64_t ns() const noexcept { return end - begin; }
};

struct goroutine_life {
  std::uint64_t number = 0;
  std::uint64_t site = 0;  // where it was created: 0 if that was before the trace
  std::uint64_t parent = 0;
  std::string name;
  std::int64_t first_ns = 0;
  std::int64_t last_ns = 0;
  // By state, from the first to the last record.
  std::array<std::int64_t, g_states> ns{};
  bool was_created = false;
  bool has_ended = false;
};

struct m_interval {
  std::int64_t begin, end;
  std::uint64_t m, thread;
  std::uint8_t state;
};

// An M holds a P.
struct p_interval {
  std::int64_t begin, end;
  std::uint64_t m;
  std::uint16_t p;
};

struct history {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::vector<goroutine_life> goroutines;
  std::unordered_map<std::uint64_t, std::uint32_t> by_number;
  std::vector<g_interval> intervals;  // those of one goroutine, of one M and of one P are in order
  std::vector<m_interval> m_intervals;
  std::vector<p_interval> p_intervals;
  // Records that are missing because the file says that it lost some, or does not have all of that time.
  std::uint64_t missing_records = 0;

  [[nodiscard]] goroutine_life const* find(std::uint64_t number) const {
    auto const found = by_number.find(number);
    return found == by_number.end() ? nullptr : &goroutines[found->second];
  }
};

// Reports to `found` what contradicts the document.
[[nodiscard]] history replay(trace_file const& file, std::vector<event> const& events, findings& found);

}  // namespace thrum::command
