#include "boot/origin_groups.h"

#include "debug/known_wait.h"
#include "debug/program_places.h"
#include "debug/symbols.h"
#include "os/clock.h"

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <optional>

namespace thrum::rt {
namespace {

// Nothing may be allocated under the lock of the records (T01), so a portion is copied first.
constexpr std::size_t at_once = record_pool::visits_at_once;

struct key {
  std::uintptr_t created_at;
  g_status status;
  wait_reason reason;
  friend bool operator==(key const&, key const&) = default;
};
struct hash_of_key {
  std::size_t operator()(key const& k) const noexcept {
    auto const low = static_cast<std::size_t>(k.status) * 64 + static_cast<std::size_t>(k.reason);
    return std::hash<std::uintptr_t>{}(k.created_at) * 31 + low;
  }
};

origin_group seen(G const& g, std::int64_t now_ns) noexcept {
  origin_group one{.count = 1, .status = g.status.load(relaxed)};
  one.created_at = reinterpret_cast<std::uintptr_t>(hint_of(g.task.created_at));
  if (one.status != g_status::waiting) return one;
  one.reason = hint_of(g.waits_for);
  one.longest_ns = known_wait_ns(g, one.reason, now_ns).value_or(0);
  return one;
}

}  // namespace

std::vector<origin_group> groups_by_origin(Sched& s) {
  std::unordered_map<key, origin_group, hash_of_key> groups;
  auto const copies = std::make_unique<std::array<origin_group, at_once>>();
  std::int64_t const now_ns = os::monotonic_ns();
  auto walk = s.records.begin_walk();
  for (bool is_more = true; is_more;) {
    std::size_t count = 0;
    is_more = s.records.walk_on(walk, at_once, [&](G const& g) {
      (*copies)[count++] = seen(g, now_ns);
      return true;
    });
    for (std::size_t i = 0; i < count; ++i) {
      origin_group const& one = (*copies)[i];
      if (!is_alive(one.status)) continue;
      auto const [found, is_first] = groups.try_emplace({one.created_at, one.status, one.reason}, one);
      origin_group& its = found->second;
      its.longest_ns = std::max(its.longest_ns, one.longest_ns);
      if (!is_first) ++its.count;
    }
  }
  std::vector<origin_group> result;
  result.reserve(groups.size());
  for (auto const& [its_key, group] : groups) result.push_back(group);
  std::sort(result.begin(), result.end(),
            [](origin_group const& a, origin_group const& b) { return a.count > b.count; });
  return result;
}

void place_names::learn(std::vector<origin_group> const& groups) {
  known_.try_emplace(0, "main");
  std::optional<symbols> files;  // they take long to open, and much memory
  for (origin_group const& group : groups) {
    if (known_.contains(group.created_at)) continue;
    if (!files) files.emplace();
    known_.emplace(group.created_at, name_of_site(place_of_user(files->places_of(group.created_at - 1))));
  }
}

}  // namespace thrum::rt
