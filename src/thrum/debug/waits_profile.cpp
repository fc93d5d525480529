#include "debug/waits_profile.h"

#include "core/current.h"
#include "debug/profile_builder.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace thrum::rt {

wait_places places_of_waits(wait_profile& its) {
  wait_places result;
  wait_place found;
  for (std::size_t n = 0; n < wait_profile::places_max; ++n) {
    bool is_used = false;
    {
      runtime_mark const mark;
      is_used = its.read(n, found);
    }
    if (is_used) result.all.push_back(found);
  }
  runtime_mark const mark;
  result.lost = its.lost();
  return result;
}

wait_places noted_since(wait_places const& before, wait_places now) {
  std::map<std::uint64_t, std::vector<wait_place const*>> known;
  for (wait_place const& each : before.all) known[each.hash].push_back(&each);
  auto const is_same = [](wait_place const& a, wait_place const& b) {
    return a.reason == b.reason && std::ranges::equal(std::span(a.pcs, a.frames), std::span(b.pcs, b.frames));
  };
  for (wait_place& each : now.all) {
    for (wait_place const* const earlier : known[each.hash]) {
      if (!is_same(*earlier, each)) continue;
      each.waits -= earlier->waits;
      each.ns -= earlier->ns;
    }
  }
  std::erase_if(now.all, [](wait_place const& each) { return each.waits <= 0; });
  now.lost.waits -= before.lost.waits;
  now.lost.ns -= before.lost.ns;
  return now;
}

std::string profile_of_waits(wait_places const& places, symbols& known) {
  profile_builder made(known, profile_builder::shown::program_alone,
                       {{"contentions", "count"}, {"delay", "nanoseconds"}});
  made.set_period({"contentions", "count"}, 1);
  auto const values_of = [](wait_place const& place) {
    return std::array{static_cast<std::int64_t>(std::llround(place.waits)),
                      static_cast<std::int64_t>(std::llround(place.ns))};
  };
  for (wait_place const& place : places.all) {
    made.add(std::span(place.pcs, place.frames), values_of(place), {{"reason", name_of(place.reason)}});
  }
  if (places.lost.waits > 0) made.add_named("(other places)", values_of(places.lost));
  return made.finish();
}

}  // namespace thrum::rt
