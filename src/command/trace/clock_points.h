// Ticks of the processor's counter as nanoseconds. The nanoseconds are those of the monotonic clock since the moment
// that the file's header names, so they are small, and a double holds them exactly.
#pragma once

#include <cstdint>
#include <vector>

namespace thrum::command {

struct clock_point {
  std::uint64_t ticks;
  std::int64_t ns;
};

// Between two points, time runs evenly. Before the first point it runs as between the first two, and behind the last
// one as between the last two. With a single point, the rate of the header counts.
class clock_points {
 public:
  clock_points(clock_point begin, std::uint64_t ticks_per_second);

  // Returns false, and ignores the point, if one of the clocks has gone back since the last point, or has stopped.
  [[nodiscard]] bool add(clock_point point);
  [[nodiscard]] std::int64_t ns_of(std::uint64_t ticks) const noexcept;

 private:
  std::vector<clock_point> points_;
  double ns_per_tick_;
};

}  // namespace thrum::command
