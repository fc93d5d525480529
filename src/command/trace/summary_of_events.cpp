#include "command/trace/summary_of_events.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace thrum::command {
namespace {

class counter {
 public:
  counter(trace const& from, summary& into) : from_(from), into_(into) {}

  void run() {
    for (event const& now : from_.merged.events) {
      record const& one = *now.what;
      if (one.kind <= record_kind::hosted) {
        add_of_goroutine(now, one);
      } else {
        add_of_scheduler(now, one);
      }
    }
    into_.ms = ms_.size();
    into_.hand_off_delay = distribution_of(std::move(hand_off_delays_));
    into_.world_stops = distribution_of(std::move(world_stops_));
  }

 private:
  void add_of_goroutine(event const& now, record const& one) {
    switch (one.kind) {
      case record_kind::ready:
        into_.readied_next += one.detail == 0 ? 1 : 0;
        into_.readied_tail += one.detail == 1 ? 1 : 0;
        into_.readied_global += one.detail == 2 ? 1 : 0;
        break;
      case record_kind::yield:
        ++into_.yields;
        into_.preempted_at_channels += one.detail == 1 ? 1 : 0;
        into_.preempted_in_code += one.detail == 2 ? 1 : 0;
        break;
      case record_kind::call:
        ++into_.calls;
        into_.calls_announced_long += one.detail == 1 ? 1 : 0;
        into_.calls_found += one.detail == 2 ? 1 : 0;
        // sysmon finds a call at some time after its beginning.
        if (one.detail != 2) calls_[one.stream] = now.ns;
        break;
      case record_kind::call_return:
        into_.returns_without_p += one.detail == 2 ? 1 : 0;
        calls_.erase(one.stream);
        break;
      default: break;
    }
  }

  void add_of_scheduler(event const& now, record const& one) {
    switch (one.kind) {
      case record_kind::m:
      case record_kind::take: ms_.insert(one.argument(0)); break;
      case record_kind::release: add_release(now, one); break;
      case record_kind::steal: {
        auto& [steals, stolen] = into_.steals_of[one.stream];
        ++steals;
        stolen += one.argument(1);
        ++into_.steals;
        into_.stolen += one.argument(1);
        break;
      }
      case record_kind::spin: ++into_.spins; break;
      case record_kind::spun: into_.spins_with_work += one.detail == 1 ? 1 : 0; break;
      case record_kind::stop_world: stop_began_ = now.ns; break;
      case record_kind::start_world:
        if (stop_began_) world_stops_.push_back(now.ns - *stop_began_);
        stop_began_.reset();
        break;
      case record_kind::timers: into_.timers += one.argument(0); break;
      case record_kind::poll:
        ++into_.polls;
        into_.polled += one.argument(0);
        break;
      case record_kind::preempt: ++into_.preempt_requests; break;
      default: break;
    }
  }

  void add_release(event const& now, record const& one) {
    ms_.insert(one.argument(0));
    auto const call = calls_.find(one.stream);
    if (one.detail != 0) {
      ++into_.hand_offs;
      into_.hand_offs_by_sysmon += one.detail == 2 ? 1 : 0;
      if (call != calls_.end()) hand_off_delays_.push_back(now.ns - call->second);
    }
    if (call != calls_.end()) calls_.erase(call);
  }

  trace const& from_;
  summary& into_;
  std::unordered_set<std::uint64_t> ms_;
  std::unordered_map<std::uint16_t, std::int64_t> calls_;  // by P: when its goroutine began the call in which it is
  std::vector<std::int64_t> hand_off_delays_, world_stops_;
  std::optional<std::int64_t> stop_began_;
};

}  // namespace

void add_events(trace const& from, summary& into) { counter(from, into).run(); }

}  // namespace thrum::command
