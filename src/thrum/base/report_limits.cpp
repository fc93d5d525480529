#include "base/report_limits.h"

namespace thrum::rt {
namespace {

constinit atomic<std::int64_t> second_ns{1'000'000'000};
constinit atomic<std::uint32_t> steps_of_reports{0};
[[gnu::tls_model("initial-exec")]] constinit thread_local atomic<std::uint32_t>* counts_of_thread = nullptr;

}  // namespace

// relaxed: a test sets it before the report begins
std::int64_t second_of_reports_ns() noexcept { return second_ns.load(relaxed); }
void set_second_of_reports(std::int64_t ns) noexcept { second_ns.store(ns, relaxed); }

// relaxed: the number orders nothing
void note_step_of_report() noexcept {
  steps_of_reports.fetch_add(1U, relaxed);
  if (counts_of_thread != nullptr) counts_of_thread->fetch_add(1U, relaxed);
}
std::uint32_t count_steps_of_reports() noexcept { return steps_of_reports.load(relaxed); }

steps_of_thread::steps_of_thread(atomic<std::uint32_t>& steps) noexcept { counts_of_thread = &steps; }
steps_of_thread::~steps_of_thread() { counts_of_thread = nullptr; }

}  // namespace thrum::rt
