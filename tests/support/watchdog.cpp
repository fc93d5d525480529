#include "support/watchdog.h"

#include "base/check.h"
#include "base/platform.h"
#include "core/current.h"
#include "core/sched.h"
#include "os/clock.h"
#include "os/thread.h"
#include "support/switches.h"

#include <cstdint>
#include <cstdlib>
#include <thread>

#include <gtest/gtest.h>
#include <time.h>
#include <unistd.h>

namespace thrum::test {
namespace {

using rt::print_error;

constexpr int exit_code_of_a_hang = 3;

constinit rt::atomic<rt::Sched*> watched{nullptr};
constinit rt::atomic<std::int64_t> test_began_ns{0};
constinit rt::atomic<bool> is_started{false};

std::int64_t limit_ns() {
  char const* const text = std::getenv("THRUM_TEST_HANG");
  std::int64_t const seconds = text == nullptr ? 0 : std::strtol(text, nullptr, 10);
  std::int64_t const standard = rt::with_asan || rt::with_tsan ? 250 : 50;
  return (seconds > 0 ? seconds : standard) * 1'000'000'000;
}

[[noreturn]] THRUM_NO_TSAN void report_and_end() {
  auto const* const test = testing::UnitTest::GetInstance()->current_test_info();
  print_error("watchdog: %s.%s hangs", test == nullptr ? "?" : test->test_suite_name(),
              test == nullptr ? "?" : test->name());
  if (rt::Sched* const s = watched.load(rt::acquire)) {
    list_everything(*s);
  } else {
    print_error("watchdog: no watched scheduler is alive");
  }
  ::_exit(exit_code_of_a_hang);
}

void watch(std::int64_t limit) {
  rt::os::set_thread_name(watchdog_name);
  for (;;) {
    timespec const pause{.tv_sec = 0, .tv_nsec = 500'000'000};
    ::nanosleep(&pause, nullptr);
    std::int64_t const began = test_began_ns.load(rt::relaxed);  // relaxed: it publishes no other data
    if (began != 0 && rt::os::monotonic_ns() - began > limit) report_and_end();
  }
}

class test_clock : public testing::EmptyTestEventListener {
  void OnTestStart(testing::TestInfo const&) override { test_began_ns.store(rt::os::monotonic_ns(), rt::relaxed); }
  void OnTestEnd(testing::TestInfo const&) override { test_began_ns.store(0, rt::relaxed); }
};

}  // namespace

// UnitTest owns the listener.
bool const test_clock_is_installed = [] {
  testing::UnitTest::GetInstance()->listeners().Append(new test_clock);
  return true;
}();

void start_watchdog() {
  if (testing::internal::InDeathTestChild() || is_started.exchange(true, rt::relaxed)) return;
  std::thread(watch, limit_ns()).detach();  // reads the limit here, because a test may change the environment later
}

int unknown_threads() { return rt::os::count_process_threads() - 1 - (is_started.load(rt::relaxed) ? 1 : 0); }

watched_run::watched_run() {
  watched.store(&rt::current_m()->sched, rt::release);  // pairs with report_and_end
}

watched_run::~watched_run() { watched.store(nullptr, rt::release); }

THRUM_NO_TSAN void list_everything(rt::Sched& s) noexcept {
  print_error("scheduler: procs=%d idle_procs=%d spinning=%d global=%u threads=%d idle_threads=%d stopping=%d",
              s.procs.size(), s.idle.count(), s.idle.spinning(), s.global_size.load(rt::relaxed), s.ms.total(),
              s.ms.without_work(), s.end.has_begun() ? 1 : 0);
  for (auto const& p : s.procs) {
    if (p->status.load(rt::relaxed) == rt::p_status::idle && p->queue.looks_empty()) continue;
    print_error("P %d [%s] queued=%u%s tick=%u attention=%u m=%d", p->id, rt::name_of(p->status.load(rt::relaxed)),
                p->queue.size(), p->queue.peek_next() ? "+next" : "", p->schedtick.load(rt::relaxed),
                p->attention.load(rt::relaxed), p->m != nullptr ? p->m->id : -1);
  }
  for (rt::M const& m : s.ms.all()) {
    rt::G const* const g = m.current;
    print_error("M %d [%s] tid=%d p=%d%s%s runs=%lld", m.id, rt::name_of(m.status), m.tid,
                m.p != nullptr ? m.p->id : -1, m.spinning ? " spinning" : "",
                m.in_runtime.load(rt::relaxed) ? " in_runtime" : "",
                g != nullptr ? static_cast<long long>(g->id) : -1LL);
  }
  s.records.for_each_g_unlocked([](rt::G& g) THRUM_NO_TSAN {
    auto const status = g.status.load(rt::relaxed);
    if (status == rt::g_status::idle || status == rt::g_status::dead) return;
    print_error("goroutine %llu [%s%s%s] %s", static_cast<unsigned long long>(g.id), rt::name_of(status),
                status == rt::g_status::waiting ? ": " : "",
                status == rt::g_status::waiting ? rt::name_of(g.waits_for) : "", g.name != nullptr ? g.name : "");
  });
}

}  // namespace thrum::test
