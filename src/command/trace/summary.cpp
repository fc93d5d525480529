#include "command/trace/summary.h"

#include <algorithm>
#include <cstddef>

namespace thrum::command {
namespace {

// The value below which, or at which, `hundredths` of the values are. Changes their order, but does not sort them,
// because that takes longest of all in a large trace.
std::int64_t percentile(std::vector<std::int64_t>& values, std::size_t hundredths) {
  std::size_t const rank = (values.size() * hundredths + 99) / 100;
  auto const at = values.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(rank, 1) - 1);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace

distribution distribution_of(std::vector<std::int64_t> values_ns) {
  distribution result;
  if (values_ns.empty()) return result;
  result.count = values_ns.size();
  for (std::int64_t const each : values_ns) result.total_ns += static_cast<double>(each);
  result.p50_ns = percentile(values_ns, 50);
  result.p99_ns = percentile(values_ns, 99);
  result.worst_ns = *std::max_element(values_ns.begin(), values_ns.end());
  return result;
}

}  // namespace thrum::command
