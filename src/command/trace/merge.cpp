#include "command/trace/merge.h"

#include "command/trace/gaps.h"
#include "command/trace/text.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <queue>
#include <unordered_map>
#include <utility>
#include <vector>

namespace thrum::command {
namespace {

using index = std::uint32_t;
constexpr index nothing = ~index{0};

// How far behind or ahead of a number the nearest number is that has these lowest eight bits: -128 to 127.
std::int64_t shortest_step(std::int64_t from, std::uint8_t low_bits) {
  auto const ahead = static_cast<std::uint8_t>(low_bits - static_cast<std::uint8_t>(from));
  return ahead < 128 ? ahead : ahead - 256;
}

// If records were lost, up to 255 of one goroutine may be missing in a row. Then a number that seems to be behind the
// one before belongs to the next round of 256, unless the times are as close as contradictions are.
constexpr std::int64_t contradiction_max_ns = 100'000'000;

bool has_number(record const& one) {
  subject const about = format_of(one.kind)->about;
  // Regions and messages of a thread without a goroutine have the number 0.
  return about == subject::m || (about == subject::goroutine && one.argument(0) != 0);
}

// Sorts. The time is linear in the length for each time that the number of sorted parts doubles, and there are few: one
// for each stream, but in damaged files.
template <class Iterator, class Less>
void merge_runs(Iterator begin, Iterator end, Less is_less) {
  std::vector<Iterator> ends;
  for (auto at = begin; at != end;) ends.push_back(at = std::is_sorted_until(at, end, is_less));
  while (ends.size() > 1) {
    std::size_t kept = 0;
    auto from = begin;
    for (std::size_t i = 0; i < ends.size(); i += 2) {
      auto const to = ends[std::min(i + 1, ends.size() - 1)];
      std::inplace_merge(from, ends[i], to, is_less);
      ends[kept++] = from = to;
    }
    ends.resize(kept);
  }
}

class merger {
 public:
  merger(trace_file const& file, findings& found) : file_(file), found_(found), gaps_(file) {}

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

  // The records of one goroutine or M lie together after this, those of one stream in its order.
  struct sequences {
    std::vector<index> order;
    std::vector<std::size_t> ends;  // in `order`
  };
  [[nodiscard]] sequences list_sequences() const {
    std::array<std::unordered_map<std::uint64_t, index>, 2> numbers;  // of goroutines and of Ms
    std::vector<index> sequence_of(nodes_.size(), nothing);
    sequences all;
    for (index i = 0; i < nodes_.size(); ++i) {
      record const& one = *nodes_[i].what;
      if (!has_number(one)) continue;
      auto& of_kind = numbers[one.kind == record_kind::m ? 1 : 0];
      auto const [found, is_new] = of_kind.try_emplace(one.argument(0), static_cast<index>(all.ends.size()));
      if (is_new) all.ends.push_back(0);
      sequence_of[i] = found->second;
      ++all.ends[found->second];
    }
    std::size_t begin = 0;
    for (std::size_t& end : all.ends) begin += std::exchange(end, begin);
    all.order.resize(begin);
    for (index i = 0; i < nodes_.size(); ++i) {
      if (sequence_of[i] != nothing) all.order[all.ends[sequence_of[i]]++] = i;
    }
    return all;
  }

  void chain_sequences() {
    auto const by_time = [this](index a, index b) { return std::pair(nodes_[a].ns, a) < std::pair(nodes_[b].ns, b); };
    auto const by_number = [this](index a, index b) {
      return std::pair(nodes_[a].number, a) < std::pair(nodes_[b].number, b);
    };
    sequences all = list_sequences();
    auto begin = all.order.begin();
    for (std::size_t const end_of_sequence : all.ends) {
      auto const end = all.order.begin() + static_cast<std::ptrdiff_t>(end_of_sequence);
      merge_runs(begin, end, by_time);
      number_sequence(begin, end);
      merge_runs(begin, end, by_number);
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
    std::int64_t last = nodes_[*begin].what->sequence;
    std::int64_t last_ns = nodes_[*begin].ns;
    for (auto i = begin; i != end; ++i) {
      node& each = nodes_[*i];
      std::int64_t step = shortest_step(last, each.what->sequence);
      bool const may_skip_round = i != begin && step <= 0 && gaps_.explain(last_ns);
      if (may_skip_round && each.ns - last_ns > contradiction_max_ns) step += 256;
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
  gap_rules const gaps_;
  std::vector<node> nodes_;
  using ready_node = std::pair<std::int64_t, index>;
  std::priority_queue<ready_node, std::vector<ready_node>, std::greater<>> ready_;
  merged_events result_;
};

}  // namespace

merged_events merge(trace_file const& file, findings& found) { return merger(file, found).run(); }

}  // namespace thrum::command
