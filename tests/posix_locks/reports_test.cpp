// A report on the end of the program joins the thread that has read the names for it. It does not do so in the way of
// thrum::posix_locks, which parks the goroutine: goroutines may be stopped for good already, and others must not run
// on.
#include "core/current.h"
#include "debug/symbols.h"
#include "support/wait_until.h"
#include <thrum/run.h>

#include <atomic>
#include <cstdint>

#include <gtest/gtest.h>

namespace thrum::test {
namespace {

rt::G const* reporter = nullptr;
std::atomic<bool> has_parked{false};

// The thread that has read the names takes a while to end.
struct slow_end {
  bool is_wanted = false;
  ~slow_end() {
    constexpr std::int64_t a_while_ns = 300'000'000;
    auto const parks = [] { return reporter->status.load(rt::relaxed) == rt::g_status::waiting; };
    if (is_wanted) has_parked = wait_until(parks, a_while_ns);
  }
};
thread_local slow_end at_end;

TEST(posix_locks_reports, the_goroutine_that_reports_is_not_parked_until_the_reader_of_names_has_ended) {
  thrum::run([] {
    constexpr std::int64_t minute_ns = 60'000'000'000;
    reporter = rt::current_m()->current;
    auto const end = rt::with_symbols_in_time(
        minute_ns, [](rt::symbols&, void*) noexcept { at_end.is_wanted = true; }, nullptr);
    EXPECT_EQ(end, rt::report_end::is_reached);
    EXPECT_FALSE(has_parked);
  });
}

}  // namespace
}  // namespace thrum::test
