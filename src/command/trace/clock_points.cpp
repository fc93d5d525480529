#include "command/trace/clock_points.h"

#include <algorithm>
#include <cmath>

namespace thrum::command {
namespace {

// Three years. The times of a damaged file may be any number. They are kept so small that differences and sums of them
// do not overflow.
constexpr double ns_max = 1e17;

double between(std::uint64_t from, std::uint64_t to) noexcept {
  return to >= from ? static_cast<double>(to - from) : -static_cast<double>(from - to);
}

std::int64_t bounded(double ns) noexcept {
  return static_cast<std::int64_t>(std::round(std::clamp(ns, -ns_max, ns_max)));
}

}  // namespace

clock_points::clock_points(clock_point begin, std::uint64_t ticks_per_second)
    : points_{begin}, ns_per_tick_{1e9 / static_cast<double>(ticks_per_second)} {}

bool clock_points::add(clock_point point) {
  clock_point const& last = points_.back();
  if (point.ticks == last.ticks && point.ns == last.ns) return true;
  if (point.ticks <= last.ticks || point.ns <= last.ns) return false;
  points_.push_back(point);
  return true;
}

std::int64_t clock_points::ns_of(std::uint64_t ticks) const noexcept {
  // The first point that is behind, but never the first of all.
  auto const next =
      std::upper_bound(points_.begin() + 1, points_.end(), ticks,
                       [](std::uint64_t searched, clock_point const& point) { return searched < point.ticks; });
  auto const to = next == points_.end() && points_.size() > 1 ? next - 1 : next;
  auto const from = to - 1;
  double const rate = to == points_.end() ? ns_per_tick_
                                          : (static_cast<double>(to->ns) - static_cast<double>(from->ns)) /
                                                between(from->ticks, to->ticks);
  return bounded(static_cast<double>(from->ns) + between(from->ticks, ticks) * rate);
}

}  // namespace thrum::command
