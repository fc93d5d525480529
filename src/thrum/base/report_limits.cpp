#include "base/report_limits.h"

#include "base/atomic.h"

namespace thrum::rt {
namespace {

constinit atomic<std::int64_t> second_ns{1'000'000'000};

}  // namespace

// relaxed: a test sets it before the report begins
std::int64_t second_of_reports_ns() noexcept { return second_ns.load(relaxed); }
void set_second_of_reports(std::int64_t ns) noexcept { second_ns.store(ns, relaxed); }

}  // namespace thrum::rt
