#include "command/trace/goroutine_replay.h"
#include "command/trace/history.h"
#include "command/trace/text.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace thrum::command {
namespace {

using ull = unsigned long long;

// Follows the Ms through their `m` records.
class m_replay {
 public:
  m_replay(trace_file const& file, history& into, findings& found)
      : file_(file), gaps_(file), into_(into), found_(found) {}

  void add(event const& now) {
    record const& one = *now.what;
    std::uint64_t const m = one.argument(0);
    auto const [found, is_new] = current_.try_emplace(m);
    current& of = found->second;
    if (!is_new) {
      check_number(now, of);
      push(m, of, now.ns);
    }
    of = {.since = now.ns, .number = now.number, .thread = one.argument(1), .state = one.detail};
  }

  void finish() {
    for (auto const& [m, of] : current_) push(m, of, into_.end);
  }

 private:
  struct current {
    std::int64_t since = 0;
    std::int64_t number = 0;
    std::uint64_t thread = 0;
    std::uint8_t state = 0;
  };

  void push(std::uint64_t m, current const& of, std::int64_t end) {
    into_.m_intervals.push_back({of.since, end, m, of.thread, of.state});
  }

  void check_number(event const& now, current const& before) {
    std::int64_t const missing = now.number - before.number - 1;
    if (missing == 0) return;
    if (missing > 0 && gaps_.explain(before.since)) {
      into_.missing_records += static_cast<std::uint64_t>(missing);
      return;
    }
    found_.add([&] {
      return text("M %llu, `m` at byte %llu: ", ull{now.what->argument(0)}, ull{file_.byte_of(*now.what)}) +
             (missing < 0 ? text("the sequence number %u stands there a second time", now.what->sequence)
                          : text("%lld records are missing before the sequence number %u",
                                 static_cast<long long>(missing), now.what->sequence));
    });
  }

  trace_file const& file_;
  gap_rules gaps_;
  history& into_;
  findings& found_;
  std::map<std::uint64_t, current> current_;
};

// Follows the Ps through `take` and `release`.
class p_replay {
 public:
  p_replay(trace_file const& file, history& into, findings& found)
      : file_(file), gaps_(file), into_(into), found_(found) {}

  void add(event const& now) {
    record const& one = *now.what;
    if (one.stream >= first_stream_without_p) {
      found_.add([&] { return where(one) + " stands in the stream of threads without a P"; });
      return;
    }
    auto const [found, is_new] = current_.try_emplace(one.stream);
    holder& of = found->second;
    std::uint64_t const m = one.argument(0);
    bool const takes = one.kind == record_kind::take;
    bool const is_wrong = !is_new && (takes ? of.m.has_value() : of.m != m);
    if (is_wrong && !gaps_.explain(of.since)) {
      found_.add([&] {
        std::string const actual = of.m ? text("M %llu holds it", ull{*of.m}) : std::string("no M holds it");
        return where(one) + text(": M %llu %s P %u, and ", ull{m}, takes ? "takes" : "releases", one.stream) + actual;
      });
    }
    // The M that releases a P first has had it since before the trace.
    if (is_new && !takes) of = {.m = m, .since = into_.begin};
    if (of.m) into_.p_intervals.push_back({of.since, now.ns, *of.m, one.stream});
    of.since = now.ns;
    of.m = takes ? std::optional(m) : std::nullopt;
  }

  void finish() {
    for (auto const& [p, of] : current_) {
      if (of.m) into_.p_intervals.push_back({of.since, into_.end, *of.m, p});
    }
  }

 private:
  struct holder {
    std::optional<std::uint64_t> m;
    std::int64_t since = 0;
  };

  [[nodiscard]] std::string where(record const& one) const {
    return text("`%s` at byte %llu", format_of(one.kind)->name, ull{file_.byte_of(one)});
  }

  trace_file const& file_;
  gap_rules gaps_;
  history& into_;
  findings& found_;
  std::map<std::uint16_t, holder> current_;
};

}  // namespace

history replay(trace_file const& file, std::vector<event> const& events, findings& found) {
  history result;
  if (events.empty()) return result;
  // A flight record begins where its records begin, and another trace where its header says. The counters differ, so a
  // record may be a little older than that.
  result.begin = file.header.is_flight_record ? events.front().ns : std::min<std::int64_t>(0, events.front().ns);
  result.end = events.back().ns;
  goroutine_replay goroutines(file, result, found);
  m_replay ms(file, result, found);
  p_replay ps(file, result, found);
  for (event const& now : events) {
    switch (format_of(now.what->kind)->about) {
      case subject::goroutine: goroutines.add(now); break;
      case subject::m: ms.add(now); break;
      case subject::none:
        if (now.what->kind == record_kind::take || now.what->kind == record_kind::release) ps.add(now);
        break;
    }
  }
  goroutines.finish();
  ms.finish();
  ps.finish();
  return result;
}

}  // namespace thrum::command
