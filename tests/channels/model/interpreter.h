// Runs a program on the scheduler and records the results. It is called on a goroutine.
//
// A program is over when all of its goroutines have ended or wait, because only they know its channels. The interpreter
// looks at them twice. If all of them waited or had ended both times, and none had completed an operation in between,
// there was one moment at which all of them waited or had ended. The goroutines that wait are left where they are, for
// good.
#pragma once

#include "base/atomic.h"
#include "base/random.h"
#include "channels/model/program.h"
#include "core/current.h"
#include "core/g.h"
#include "support/wait_until.h"
#include <thrum/chan.h>
#include <thrum/go.h>
#include <thrum/select.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace thrum::test::chan_model {

struct how_to_run {
  bool with_tickets = false;  // see event; they order the goroutines' memory, and so hide some races
  std::uint64_t seed = 0;     // of the pauses between operations
};

// Values as elements: as they are, or in a box.
inline int make_element(int value, int const*) { return value; }
inline std::string make_element(int value, std::string const*) { return "value number " + std::to_string(value); }
inline int value_in(int element) { return element; }
inline int value_in(std::string const& element) { return std::stoi(element.substr(13)); }

template <class T>
class interpreter {
 public:
  // nullopt: it does not come to rest.
  static std::optional<history> run(program const& p, how_to_run how) {
    auto const shared = std::make_shared<common>(p, how);  // for the goroutines that never end
    for (std::size_t g = 0; g < p.goroutines.size(); ++g) {
      thrum::go([shared, g] { interpreter(*shared, g).run_body(); });
    }
    if (!wait_until([&] { return shared->is_at_rest(); })) return std::nullopt;
    history result;
    for (auto const& record : shared->records) {
      // acquire in is_at_rest: these are written
      auto const completed = static_cast<std::ptrdiff_t>(record->completed.load(rt::acquire));
      result.emplace_back(record->events.begin(), record->events.begin() + completed);
    }
    return result;
  }

 private:
  struct record {
    rt::atomic<rt::G*> g{nullptr};
    rt::atomic<std::size_t> completed{0};  // release: the events before are written
    rt::atomic<bool> ended{false};
    std::vector<event> events;
  };
  struct common {
    common(program const& p, how_to_run chosen) : what(p), how(chosen) {
      for (std::size_t const capacity : p.capacities) channels.emplace_back(capacity);
      for (auto const& body : p.goroutines) {
        records.push_back(std::make_unique<record>());
        records.back()->events.resize(body.size());
      }
    }
    [[nodiscard]] bool is_at_rest() const {
      std::vector<std::size_t> before;
      for (auto const& r : records) before.push_back(r->completed.load(rt::acquire));
      for (int look = 0; look < 2; ++look) {
        for (auto const& r : records) {
          if (r->ended.load(rt::acquire)) continue;
          rt::G const* const g = r->g.load(rt::acquire);
          if (g == nullptr || g->status.load(rt::acquire) != rt::g_status::waiting) return false;
        }
      }
      for (std::size_t i = 0; i < records.size(); ++i) {
        if (records[i]->completed.load(rt::acquire) != before[i]) return false;
      }
      return true;
    }
    program what;
    how_to_run how;
    std::vector<chan<T>> channels;
    std::vector<std::unique_ptr<record>> records;
    rt::atomic<std::uint64_t> tickets{1};
  };

  interpreter(common& all, std::size_t me)
      : all_(all), mine_(*all.records[me]), me_(me), random_(all.how.seed + me * 0x9e3779b97f4a7c15ULL) {}

  void run_body() {
    mine_.g.store(rt::current_m()->current, rt::release);
    auto const& body = all_.what.goroutines[me_];
    for (std::size_t i = 0; i < body.size(); ++i) {
      for (std::uint32_t pause = random_.below(4) == 0 ? random_.below(200) : 0; pause > 0; --pause) rt::cpu_relax();
      event& e = mine_.events[i];
      // acq_rel: a goroutine that draws a later ticket sees everything that was done before this one
      if (all_.how.with_tickets) e.began = all_.tickets.fetch_add(1U, rt::acq_rel);
      try {
        carry_out(body[i], i, e);
      } catch (channel_closed const&) {
        e.what = outcome::threw;
      }
      if (all_.how.with_tickets) e.ended = all_.tickets.fetch_add(1U, rt::acq_rel);
      mine_.completed.store(i + 1, rt::release);
    }
    mine_.ended.store(true, rt::release);
  }

  [[nodiscard]] chan<T> channel(int on) const {
    return on == nil ? chan<T>(nullptr) : all_.channels[static_cast<std::size_t>(on)];
  }
  [[nodiscard]] T element(std::size_t i, std::size_t k) const {
    return make_element(value_of(me_, i, k), static_cast<T const*>(nullptr));
  }
  static void note_received(event& e, std::optional<T> const& got) {
    e.what = got.has_value() ? outcome::received : outcome::closed;
    if (got.has_value()) e.value = value_in(*got);
  }

  void carry_out(operation const& op, std::size_t i, event& e) {
    switch (op.what) {
      case verb::yield: thrum::yield(); return;
      case verb::send:
        channel(op.cases[0].on).send(element(i, 0));
        e.what = outcome::sent;
        return;
      case verb::recv: note_received(e, channel(op.cases[0].on).recv()); return;
      case verb::close:
        channel(op.cases[0].on).close();
        e.what = outcome::closed;
        return;
      case verb::try_send:
        e.what = channel(op.cases[0].on).try_send(element(i, 0)) ? outcome::sent : outcome::would_block;
        return;
      case verb::try_recv: {
        auto const got = channel(op.cases[0].on).try_recv();
        note_received(e, got.value);
        if (!got && !got.closed) e.what = outcome::would_block;
        return;
      }
      case verb::select:
      case verb::select_or_not:
        // Up to three cases also as arguments of one call.
        if (op.cases.size() <= 3 && random_.below(2) == 0) {
          e.chosen = static_cast<int>(select_of_arguments(op, i, e));
        } else {
          e.chosen = static_cast<int>(select_of_span(op, i, e));
        }
    }
  }

  auto receiving(choice const& one, event& e) {
    return on_recv(channel(one.on), [&e](std::optional<T> const& got) { note_received(e, got); });
  }
  auto sending(choice const& one, std::size_t i, std::size_t k, event& e) {
    return on_send(channel(one.on), element(i, k), [&e] { e.what = outcome::sent; });
  }
  static auto not_now(event& e) {
    return otherwise([&e] { e.what = outcome::would_block; });
  }

  std::size_t select_of_span(operation const& op, std::size_t i, event& e) {
    std::vector<select_case> cases;
    for (std::size_t k = 0; k < op.cases.size(); ++k) {
      if (op.cases[k].sends) {
        cases.emplace_back(sending(op.cases[k], i, k, e));
      } else {
        cases.emplace_back(receiving(op.cases[k], e));
      }
    }
    if (op.what == verb::select_or_not) cases.emplace_back(not_now(e));
    return thrum::select(cases);
  }

  // Each step adds one case, whose type is known only here, to the arguments.
  template <class... Made>
  std::size_t select_of_arguments(operation const& op, std::size_t i, event& e, Made&&... made) {
    constexpr std::size_t k = sizeof...(Made);
    if (k == op.cases.size()) {
      if (op.what == verb::select) return thrum::select(std::move(made)...);
      return thrum::select(std::move(made)..., not_now(e));
    }
    if constexpr (k < 3) {
      if (op.cases[k].sends) {
        return select_of_arguments(op, i, e, std::move(made)..., sending(op.cases[k], i, k, e));
      }
      return select_of_arguments(op, i, e, std::move(made)..., receiving(op.cases[k], e));
    }
    return 0;  // not reached: there are at most three
  }

  common& all_;
  record& mine_;
  std::size_t me_;
  rt::random_source random_;
};

}  // namespace thrum::test::chan_model
