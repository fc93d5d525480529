#include "command/trace/merge.h"

#include "command/trace/text.h"

#include <algorithm>
#include <array>
#include <functional>
#include <queue>
#include <tuple>
#include <utility>

namespace thrum::command {
namespace {

using index = std::uint32_t;
constexpr index nothing = ~index{0};

// If records were lost, up to 255 of one goroutine may be missing in a row. Then a number that seems to be behind the
// one before belongs to the next round of 256, unless the times are as close as contradictions are.
constexpr std::int64_t contradiction_max_ns = 100'000'000;

bool has_number(record const& one) {
  subject const about = format_of(one.kind)->about;
  // Regions and messages of a thread without a goroutine have the number 0.
  return about == subject::m || (about == subject::goroutine && one.argument(0) != 0);
}

class merger {
 public:
  merger(trace_file const& file, findings& found) : file_(file), found_(found) {}

  merged_events run() {
    list_records();
    chain_sequences();
    find_order();
    return std::move(result_);
  }

 private:
  struct node {
    record const* what = nullptr;
    std::int64_t ns = 0;  // not before those of the nodes before it
    std::int64_t number = 0;
    index next_in_stream = nothing;
    index next_in_sequence = nothing;
    std::uint8_t waits_for = 0;  // how many nodes must come before it, and have not yet come
    bool is_done = false;
  };

  // One goroutine or M: what its records have in common.
  using sequence = std::pair<bool, std::uint64_t>;
  [[nodiscard]] sequence sequence_of(index i) const {
    return {nodes_[i].what->kind == record_kind::m, nodes_[i].what->argument(0)};
  }

  void list_records() {
    std::size_t count = 0;
    for (auto const& [number, each] : file_.streams) count += each.records.size();
    if (count >= nothing) throw unreadable_file("the file has too many records");
    nodes_.reserve(count);
    for (auto const& [number, each] : file_.streams) {
      for (record const& one : each.records) {
        bool const follows = &one != each.records.data() && number < first_stream_without_p;
        if (follows) nodes_.back().next_in_stream = static_cast<index>(nodes_.size());
        nodes_.push_back({.what = &one, .ns = one.ns, .waits_for = static_cast<std::uint8_t>(follows ? 1 : 0)});
      }
    }
  }

  void chain_sequences() {
    std::vector<index> order;
    for (index i = 0; i < nodes_.size(); ++i) {
      if (has_number(*nodes_[i].what)) order.push_back(i);
    }
    std::sort(order.begin(), order.end(), [this](index a, index b) {
      return std::tuple(sequence_of(a), nodes_[a].ns, a) < std::tuple(sequence_of(b), nodes_[b].ns, b);
    });
    for (auto begin = order.begin(); begin != order.end();) {
      auto const end = std::find_if(begin, order.end(), [&](index i) { return sequence_of(i) != sequence_of(*begin); });
      number_sequence(begin, end);
      std::sort(begin, end,
                [this](index a, index b) { return std::pair(nodes_[a].number, a) < std::pair(nodes_[b].number, b); });
      for (auto i = begin; i + 1 != end; ++i) {
        nodes_[*i].next_in_sequence = *(i + 1);
        ++nodes_[*(i + 1)].waits_for;
      }
      begin = end;
    }
  }

  // Finds the whole numbers of one sequence, whose records are in the order of their times.
  template <class Iterator>
  void number_sequence(Iterator begin, Iterator end) {
    bool const may_skip_rounds = file_.has_losses() || file_.header.is_flight_record || !file_.has_end;
    std::int64_t last = nodes_[*begin].what->sequence;
    std::int64_t last_ns = nodes_[*begin].ns;
    for (auto i = begin; i != end; ++i) {
      node& each = nodes_[*i];
      std::int64_t step = static_cast<std::int8_t>(each.what->sequence - static_cast<std::uint8_t>(last));
      if (i != begin && step <= 0 && may_skip_rounds && each.ns - last_ns > contradiction_max_ns) step += 256;
      each.number = last + step;
      if (step >= 0) {
        last = each.number;
        last_ns = each.ns;
      }
    }
  }

  void find_order() {
    for (index i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].waits_for == 0) ready_.emplace(nodes_[i].ns, i);
    }
    std::vector<index> by_time;  // made only if there is a contradiction
    std::size_t next_by_time = 0;
    result_.events.reserve(nodes_.size());
    while (result_.events.size() < nodes_.size()) {
      if (!ready_.empty()) {
        index const i = ready_.top().second;
        ready_.pop();
        emit(i);
        continue;
      }
      if (by_time.empty()) by_time = indices_by_time();
      while (nodes_[by_time[next_by_time]].is_done) ++next_by_time;
      index const earliest = by_time[next_by_time];
      found_.add([&] {
        return text("the order of stream %u contradicts the sequence number of the record at byte %llu",
                    nodes_[earliest].what->stream,
                    static_cast<unsigned long long>(file_.byte_of(*nodes_[earliest].what)));
      });
      emit(earliest);
    }
  }

  [[nodiscard]] std::vector<index> indices_by_time() const {
    std::vector<index> indices(nodes_.size());
    for (index i = 0; i < nodes_.size(); ++i) indices[i] = i;
    std::sort(indices.begin(), indices.end(),
              [this](index a, index b) { return std::pair(nodes_[a].ns, a) < std::pair(nodes_[b].ns, b); });
    return indices;
  }

  void emit(index i) {
    node& each = nodes_[i];
    if (!result_.events.empty()) each.ns = std::max(each.ns, result_.events.back().ns);
    if (std::int64_t const correction = each.ns - each.what->ns; correction > 0) {
      ++result_.times_corrected;
      result_.correction_max_ns = std::max(result_.correction_max_ns, correction);
    }
    result_.events.push_back({each.what, each.ns, each.number});
    each.is_done = true;
    for (index const next : std::array{each.next_in_stream, each.next_in_sequence}) {
      if (next == nothing) continue;
      node& after = nodes_[next];
      after.ns = std::max(after.ns, each.ns);
      if (--after.waits_for == 0 && !after.is_done) ready_.emplace(after.ns, next);
    }
  }

  trace_file const& file_;
  findings& found_;
  std::vector<node> nodes_;
  using ready_node = std::pair<std::int64_t, index>;
  std::priority_queue<ready_node, std::vector<ready_node>, std::greater<>> ready_;
  merged_events result_;
};

}  // namespace

merged_events merge(trace_file const& file, findings& found) { return merger(file, found).run(); }

}  // namespace thrum::command
