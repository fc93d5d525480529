#include "boot/settings.h"

#include "base/ablation.h"
#include "base/check.h"
#include "debug/dump_form.h"
#include "os/clock.h"
#include "os/cpu.h"
#include "os/env.h"
#include "os/signal.h"
#include <thrum/detail/callable.h>

#include <bit>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace thrum::rt {
namespace {

constexpr std::int64_t schedtrace_ms_max = 86'400'000;  // a day
constexpr std::int64_t slice_us_min = 50;
constexpr std::chrono::nanoseconds::rep interval_ns_min = 1'000'000;                   // a millisecond
constexpr std::chrono::nanoseconds::rep interval_ns_max = 366LL * 86'400'000'000'000;  // a year
constexpr std::int64_t slice_us_max = 10'000'000;
constexpr std::int64_t limit_wait_ms_max = 86'400'000;  // a day

template <class T>
void require_range(char const* name, T value, T low, T high) {
  if (value >= low && value <= high) return;
  throw std::invalid_argument(std::string("thrum: ") + name + " = " + std::to_string(value) + " must be in the range " +
                              std::to_string(low) + ".." + std::to_string(high));
}

// Returns a positive number from the environment, or 0. As in Go, any other value counts as not set.
int procs_from_environment(char const* name) noexcept {
  char const* const text = os::environment(name);
  if (text == nullptr) return 0;
  char* end = nullptr;
  long const value = std::strtol(text, &end, 10);
  return end != text && *end == '\0' && value > 0 && value <= procs_max ? static_cast<int>(value) : 0;
}

int procs_by_hand(options const& chosen) noexcept {
  if (chosen.max_procs != 0) return chosen.max_procs;
  if (int const procs = procs_from_environment("THRUM_MAXPROCS")) return procs;
  return procs_from_environment("GOMAXPROCS");
}

int procs_of_machine() noexcept {
  int const cpus = os::available_cpus();
  return cpus < procs_max ? cpus : procs_max;
}

}  // namespace

settings checked_settings(options const& chosen) {
  if constexpr (with_ablation) leave_out(os::environment("THRUM_ABLATE"));
  require_range("options::max_procs", chosen.max_procs, 0, procs_max);
  require_range("options::max_threads", chosen.max_threads, 1, 1'000'000);
  require_range("options::stack_size", chosen.stack_size, stack_size_min, stack_size_max);
  require_range("options::local_queue_capacity", chosen.local_queue_capacity, static_cast<int>(run_queue_capacity_min),
                static_cast<int>(run_queue_capacity_max));
  if (!std::has_single_bit(static_cast<unsigned>(chosen.local_queue_capacity))) {
    throw std::invalid_argument("thrum: options::local_queue_capacity = " +
                                std::to_string(chosen.local_queue_capacity) + " must be a power of two");
  }
  require_range("options::preempt_signal", chosen.preempt_signal, 1, SIGRTMAX);
  require_range("options::idle_thread_after (ns)", chosen.idle_thread_after.count(), interval_ns_min, interval_ns_max);
  require_range("options::scavenge_after (ns)", chosen.scavenge_after.count(), interval_ns_min, interval_ns_max);
  settings result;
  int const by_hand = procs_by_hand(chosen);
  result.procs_by_hand = by_hand != 0;
  result.procs = by_hand != 0 ? by_hand : procs_of_machine();
  result.threads_max = chosen.max_threads;
  result.stack_size = chosen.stack_size;
  result.run_queue_capacity = static_cast<std::uint32_t>(chosen.local_queue_capacity);
  result.detect_deadlock = chosen.deadlock_detection;
  result.seed = os::random_seed();
  std::int64_t value = 0;
  char const* const debug = os::environment("THRUM_DEBUG");
  if (os::debug_setting(debug, "seed", value)) result.seed = static_cast<std::uint64_t>(value);
  if (os::debug_setting(debug, "schedtrace", value) && value > 0 && value <= schedtrace_ms_max) {
    result.schedtrace_every_ns = value * 1'000'000;
  }
  result.randomize = os::debug_setting(debug, "randomize", value) && value != 0;
  result.async_preemption = chosen.async_preemption && !with_tsan;  // TSan puts signals off until the next call (T15)
  if (os::debug_setting(debug, "asyncpreemptoff", value) && value != 0) result.async_preemption = false;
  result.posix_calls_park = !(os::debug_setting(debug, "posixoff", value) && value != 0);
  if (os::debug_setting(debug, "iouringoff", value) && value != 0) result.io_uring = false;
  result.preempt_signal = chosen.preempt_signal;
  result.stop_beside_own_malloc = chosen.stop_beside_own_malloc;
  result.idle_thread_after_ns = chosen.idle_thread_after.count();
  result.scavenge_after_ns = chosen.scavenge_after.count();
  if (os::debug_setting(debug, "slice", value) && value >= slice_us_min && value <= slice_us_max) {
    result.slice_ns = value * 1'000;
  }
  if (os::debug_setting(debug, "limitwait", value) && value > 0 && value <= limit_wait_ms_max) {
    result.limit_patience_ns = value * 1'000'000;
  }
  result.measure_waits = os::debug_setting(debug, "waittimes", value) && value != 0;
  result.scheddetail = os::debug_setting(debug, "scheddetail", value) && value != 0;
  result.panic_shows_all = os::debug_word(debug, "traceback") != "single";
  dump_form form;
  static_cast<void>(parse_dump_form(os::debug_word(debug, "dump"), form));  // nonsense counts as not set
  set_form_of_reports(form);
  set_crash_on_fatal(os::debug_setting(debug, "crash", value) && value != 0);
  return result;
}

}  // namespace thrum::rt

std::size_t thrum::detail::checked_stack_bytes(std::size_t bytes) {
  rt::require_range("stack_size", bytes, rt::stack_size_min, rt::stack_size_max);
  return bytes;
}
