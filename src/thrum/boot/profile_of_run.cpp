#include "boot/profile_of_run.h"

#include "base/check.h"
#include "base/platform.h"
#include "base/report_limits.h"
#include "boot/file_of_run.h"
#include "core/current.h"
#include "debug/symbols.h"
#include "debug/whole_file.h"
#include "os/env.h"

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <system_error>
#include <utility>

namespace thrum::rt {
namespace {

constexpr char const* variable = "THRUM_CPUPROFILE";
constexpr int per_second = 100;  // Go's rate

constinit atomic<int> runs_with_a_profile{0};
// That of the run that is alive.
constinit atomic<profile_of_run*> live{nullptr};
// Those that runs have left behind, the last one first. A leak checker finds here what they refer to.
constinit cpu_profile* volatile left_behind = nullptr;

// For a program that ends by exit() on a goroutine: see trace_of_run.cpp.
void end_at_exit() noexcept {
  M const* const m = current_m();
  if (m == nullptr || m->current == nullptr || m->is_foreign || m->in_runtime.load(relaxed)) return;
  if (profile_of_run* const its = live.load(acquire)) its->stop_and_write();
}

void watch_for_exit_with_a_profile() noexcept {
  static constinit atomic<bool> is_done{false};
  if (is_done.exchange(true, relaxed)) return;  // relaxed: one run at a time
  static_cast<void>(std::atexit([] { end_at_exit(); }));
}

}  // namespace

profile_of_run::profile_of_run(Sched& s) : cpu_(new cpu_profile(s)) { watch_for_exit_with_a_profile(); }

profile_of_run::~profile_of_run() {
  if (end()) delete cpu_;
}

cpu_profile* profile_of_run::of_live_run() noexcept {
  profile_of_run const* const its = live.load(acquire);
  return its != nullptr ? its->cpu_ : nullptr;
}

profile_of_run* profile_of_run::live_one() noexcept { return live.load(acquire); }

void profile_of_run::start_if_asked() {
  live.store(this, release);
  char const* const name = os::environment(variable);
  if (name == nullptr || *name == '\0') return;
  path_ = file_of_run(name, runs_with_a_profile);
  auto const [error, call] = write_whole_file(path_, {});
  if (error != 0)
    throw std::system_error(error, std::generic_category(), std::string(variable) + ": " + call + " " + path_);
  auto const result = cpu_->start(per_second);
  if (result.how == cpu_profile::outcome::failed)
    throw std::system_error(result.error, std::generic_category(), std::string(variable) + ": " + result.call);
}

// A profile that has ended, and the file that gets it.
struct profile_of_run::file {
  cpu_samples taken;
  std::string const& path;
  file_error result{};

  static void write(symbols& known, void* its_file) noexcept {
    auto& to = *static_cast<file*>(its_file);
    try {
      to.result = write_whole_file(to.path, profile_of_cpu(to.taken, known));
    } catch (...) {
      to.result = {ENOMEM, "no memory"};
    }
  }
  void report() const noexcept {
    if (result.error == 0) return;
    print_error("thrum: the profile %s is not complete: %s: %s", path.c_str(), result.call,
                std::strerror(result.error));
  }
};

void profile_of_run::stop_and_write() noexcept {
  file its{{}, path_};
  if (!cpu_->stop(its.taken) || path_.empty()) return;
  with_symbols(file::write, &its);
  its.report();
}

void profile_of_run::write_before_death() noexcept {
  cpu_profile* const cpu = cpu_;  // the end of a run may reset it meanwhile
  if (cpu == nullptr || path_.empty()) return;
  auto* const its = new (std::nothrow) file{{}, path_};  // a reader of names that is left goes on to use it
  if (its == nullptr) return;
  // as for the report itself (places.cpp)
  std::int64_t const without_step_ns = (with_asan || with_tsan ? 3 : 1) * 12 * second_of_reports_ns();
  if (!cpu->stop_before_death(its->taken, without_step_ns))
    return print_error("thrum: the profile %s is empty: its thread does not end", path_.c_str());
  if (its->taken.period_ns == 0) return;  // none was being taken
  note_step_of_report();
  switch (with_symbols_in_time(without_step_ns, file::write, its)) {
    case report_end::is_reached: its->report(); break;
    case report_end::has_no_reader:
    case report_end::is_left:
      print_error("thrum: the profile %s is empty: the names of functions cannot be had", path_.c_str());
  }
}

bool profile_of_run::end() noexcept {
  if (cpu_ == nullptr) return true;
  live.store(nullptr, relaxed);
  stop_and_write();
  if (cpu_->is_changing()) {
    abandon();
    return false;
  }
  cpu_->let_go_of_signal();
  return true;
}

void profile_of_run::abandon() noexcept {
  if (cpu_ == nullptr) return;
  cpu_->next_left_behind = left_behind;
  left_behind = std::exchange(cpu_, nullptr);
}

}  // namespace thrum::rt
