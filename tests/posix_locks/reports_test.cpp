// A report on the end of the program joins the thread that has read the names for it. It does not do so in the way of
// thrum::posix_locks, which parks the goroutine: goroutines may be stopped for good already, and others must not run
// on.
#include "core/current.h"
#include "debug/symbols.h"
#include "posix/words_of_child.h"
#include "support/wait_until.h"
#include <thrum/blocking.h>
#include <thrum/go.h>
#include <thrum/run.h>
#include <thrum/time.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

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

// The goroutine keeps its thread also in an announced call, because it holds a recursive mutex. So another goroutine
// that has to come back to that thread does not.
TEST(posix_locks_reports, a_goroutine_with_a_lock_that_blocks_its_thread_in_an_announced_call_is_reported) {
  if (rt::with_tsan) GTEST_SKIP() << "TSan lets no child make threads";
  static std::recursive_mutex mutex;
  std::string const text = words_of_child([] {
    go([] {
      go(park_for_ever);
      yield();                            // with one P the other goroutine is at home on this thread
      std::lock_guard const held(mutex);  // belongs to the goroutine, and to its thread
      blocking([] { ::syscall(SYS_ppoll, nullptr, 0, nullptr, nullptr, 0); });  // as if for the other goroutine
    });
    for (;;) sleep_for(std::chrono::hours(1));
  });
  EXPECT_NE(text.find("in a call that it announced (thrum::blocking)"), std::string::npos) << text;
  EXPECT_NE(text.find("Unlock before you announce a call"), std::string::npos) << text;
}

}  // namespace
}  // namespace thrum::test
