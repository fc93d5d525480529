#include "command/trace/summary.h"

#include <algorithm>

namespace thrum::command {
namespace {

// The value below which, or at which, `hundredths` of the sorted values are.
std::int64_t percentile(std::vector<std::int64_t> const& sorted, std::size_t hundredths) {
  std::size_t const rank = (sorted.size() * hundredths + 99) / 100;
  return sorted[std::max<std::size_t>(rank, 1) - 1];
}

}  // namespace

distribution distribution_of(std::vector<std::int64_t> values_ns) {
  distribution result;
  if (values_ns.empty()) return result;
  std::sort(values_ns.begin(), values_ns.end());
  result.count = values_ns.size();
  for (std::int64_t const each : values_ns) result.total_ns += static_cast<double>(each);
  result.p50_ns = percentile(values_ns, 50);
  result.p99_ns = percentile(values_ns, 99);
  result.worst_ns = values_ns.back();
  return result;
}

}  // namespace thrum::command
