// Checks whether a history can be explained, which means that there is an order of all operations in which a plain
// sequential channel does what was seen.
//
// The model takes one step at a time. A step begins the next operation of one goroutine and carries it out, or puts the
// goroutine into the queues in which it waits. A partner that waits there is completed by the same step. Every outcome
// must be the one in the history. The checker tries all orders of steps, depth first, and remembers states that led
// nowhere.
//
// In the end every completed operation must be accounted for, and exactly the goroutines whose operation was not
// completed must wait. So two goroutines that wait for each other cannot be explained, nor can a value that was lost,
// doubled or overtaken.
#pragma once

#include "channels/model/program.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

namespace thrum::test::chan_model {

class checker {
 public:
  checker(program const& p, history const& h) : program_(p), history_(h) {}

  [[nodiscard]] bool is_explainable() {
    state first;
    first.channels.resize(program_.capacities.size());
    first.next.resize(program_.goroutines.size());
    first.waits.resize(program_.goroutines.size());
    return search(first);
  }

 private:
  struct waiter {
    std::size_t g;
    std::size_t k;  // which case
  };
  struct channel {
    std::vector<int> buffer;
    std::vector<waiter> receivers;
    std::vector<waiter> senders;
    bool closed = false;
  };
  struct state {
    std::vector<channel> channels;
    std::vector<std::size_t> next;  // operation of each goroutine
    std::vector<char> waits;        // in that operation

    [[nodiscard]] std::string key() const {
      std::string key;
      auto const add = [&key](std::size_t number) { key.push_back(static_cast<char>(number)); };
      for (std::size_t g = 0; g < next.size(); ++g) add(2 * next[g] + (waits[g] != 0 ? 1 : 0));
      for (channel const& c : channels) {
        add(c.closed ? 1 : 0);
        add(c.buffer.size());
        for (int const value : c.buffer) key += std::to_string(value) + ",";
        for (auto const* queue : {&c.receivers, &c.senders}) {
          add(queue->size());
          for (waiter const& w : *queue) add(w.g * 16 + w.k);
        }
      }
      return key;
    }
  };

  // The operation that g is about to begin, or waits in, was completed like this.
  [[nodiscard]] event const* recorded(state const& s, std::size_t g) const {
    return s.next[g] < history_[g].size() ? &history_[g][s.next[g]] : nullptr;
  }
  [[nodiscard]] operation const& current(state const& s, std::size_t g) const {
    return program_.goroutines[g][s.next[g]];
  }

  bool search(state const& s) {
    if (is_the_end(s)) return true;
    if (!seen_.insert(s.key()).second) return false;
    for (std::size_t g = 0; g < s.next.size(); ++g) {
      if (s.waits[g] != 0 || s.next[g] == program_.goroutines[g].size() || !may_begin(s, g)) continue;
      state after = s;
      if (begin(after, g) && search(after)) return true;
    }
    return false;
  }

  [[nodiscard]] bool is_the_end(state const& s) const {
    for (std::size_t g = 0; g < s.next.size(); ++g) {
      if (s.next[g] != history_[g].size()) return false;
      if (s.next[g] < program_.goroutines[g].size() && s.waits[g] == 0) return false;
    }
    return true;
  }

  // With tickets: everything that ended before this began is over.
  [[nodiscard]] bool may_begin(state const& s, std::size_t g) const {
    event const* const mine = recorded(s, g);
    if (mine == nullptr || mine->ended == 0) return true;
    for (std::size_t h = 0; h < s.next.size(); ++h) {
      event const* const other = recorded(s, h);
      if (h != g && other != nullptr && other->ended < mine->began) return false;
    }
    return true;
  }

  bool begin(state& s, std::size_t g) {
    operation const& op = current(s, g);
    if (op.what == verb::yield) return complete(s, g, {outcome::sent, 0, 0, 0, 0});
    if (op.what == verb::close) return close(s, g, op.cases.front().on);
    event const* const seen = recorded(s, g);
    bool anything_ready = false;
    for (std::size_t k = 0; k < op.cases.size(); ++k) {
      if (!is_ready(s, op.cases[k])) continue;
      anything_ready = true;
      // A select that threw does not say which case it was.
      bool const may_be_this =
          seen != nullptr && (seen->what == outcome::threw || !op.is_select() || seen->chosen == static_cast<int>(k));
      if (!may_be_this) continue;
      state tried = s;
      if (carry_out(tried, g, k)) {
        s = std::move(tried);
        return true;
      }
    }
    if (anything_ready) return false;
    if (!op.may_wait()) {
      return complete(s, g, {outcome::would_block, static_cast<int>(op.is_select() ? op.cases.size() : 0), 0, 0, 0});
    }
    for (std::size_t k = 0; k < op.cases.size(); ++k) {
      if (op.cases[k].on == nil) continue;
      channel& c = s.channels[static_cast<std::size_t>(op.cases[k].on)];
      (op.cases[k].sends ? c.senders : c.receivers).push_back({g, k});
    }
    s.waits[g] = 1;
    return true;
  }

  [[nodiscard]] bool is_ready(state const& s, choice const& one) const {
    if (one.on == nil) return false;
    channel const& c = s.channels[static_cast<std::size_t>(one.on)];
    if (c.closed) return true;
    if (!one.sends) return !c.buffer.empty() || !c.senders.empty();
    return !c.receivers.empty() || c.buffer.size() < program_.capacities[static_cast<std::size_t>(one.on)];
  }

  // A select that names a channel twice is in the channel's queue twice, at adjacent places, and either case may come
  // first.
  [[nodiscard]] waiter first_in(state const& s, std::vector<waiter> const& queue) const {
    waiter first = queue.front();
    event const* const seen = recorded(s, first.g);
    for (waiter const& w : queue) {
      if (seen != nullptr && w.g == first.g && static_cast<int>(w.k) == seen->chosen) first.k = w.k;
    }
    return first;
  }

  bool carry_out(state& s, std::size_t g, std::size_t k) {
    choice const one = current(s, g).cases[k];
    channel& c = s.channels[static_cast<std::size_t>(one.on)];
    int const chosen = static_cast<int>(k);
    if (one.sends) {
      if (c.closed) return complete(s, g, {outcome::threw, chosen, 0, 0, 0});
      int const value = value_of(g, s.next[g], k);
      if (!c.receivers.empty()) {
        waiter const to = first_in(s, c.receivers);
        if (!complete(s, to.g, {outcome::received, static_cast<int>(to.k), value, 0, 0})) return false;
      } else {
        c.buffer.push_back(value);
      }
      return complete(s, g, {outcome::sent, chosen, 0, 0, 0});
    }
    std::optional<int> value;
    if (!c.buffer.empty()) {
      value = c.buffer.front();
      c.buffer.erase(c.buffer.begin());
    }
    if (!c.senders.empty()) {
      waiter const from = first_in(s, c.senders);
      int const theirs = value_of(from.g, s.next[from.g], from.k);
      if (value.has_value()) {
        c.buffer.push_back(theirs);
      } else {
        value = theirs;
      }
      if (!complete(s, from.g, {outcome::sent, static_cast<int>(from.k), 0, 0, 0})) return false;
    }
    if (value.has_value()) return complete(s, g, {outcome::received, chosen, *value, 0, 0});
    return complete(s, g, {outcome::closed, chosen, 0, 0, 0});
  }

  bool close(state& s, std::size_t g, int on) {
    if (on == nil || s.channels[static_cast<std::size_t>(on)].closed) {
      return complete(s, g, {outcome::threw, 0, 0, 0, 0});
    }
    channel& c = s.channels[static_cast<std::size_t>(on)];
    c.closed = true;
    while (!c.receivers.empty()) {
      waiter const w = first_in(s, c.receivers);
      if (!complete(s, w.g, {outcome::closed, static_cast<int>(w.k), 0, 0, 0})) return false;
    }
    while (!c.senders.empty()) {
      waiter const w = first_in(s, c.senders);
      if (!complete(s, w.g, {outcome::threw, static_cast<int>(w.k), 0, 0, 0})) return false;
    }
    return complete(s, g, {outcome::closed, 0, 0, 0, 0});
  }

  // g's operation is over, and was recorded so; it leaves all queues.
  bool complete(state& s, std::size_t g, event const& e) {
    operation const& op = current(s, g);
    event const* const seen = recorded(s, g);
    if (seen == nullptr) return false;
    if (op.what != verb::yield) {
      bool const same_case = !op.is_select() || e.what == outcome::threw || seen->chosen == e.chosen;
      bool const same_value = e.what != outcome::received || seen->value == e.value;
      if (seen->what != e.what || !same_case || !same_value) return false;
    }
    if (s.waits[g] != 0) {
      for (channel& c : s.channels) {
        std::erase_if(c.receivers, [g](waiter const& w) { return w.g == g; });
        std::erase_if(c.senders, [g](waiter const& w) { return w.g == g; });
      }
      s.waits[g] = 0;
    }
    ++s.next[g];
    return true;
  }

  program const& program_;
  history const& history_;
  std::unordered_set<std::string> seen_;
};

}  // namespace thrum::test::chan_model
