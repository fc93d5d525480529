#include "boot/trace_of_run.h"

#include "base/check.h"
#include "boot/file_of_run.h"
#include "boot/start_error.h"
#include "core/current.h"
#include "os/clock.h"
#include "os/env.h"
#include "os/short_wait.h"
#include "os/thread.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <system_error>

namespace thrum::rt {
namespace {

constexpr std::int64_t last_round_ns = 200'000'000;
constexpr std::int64_t last_snapshot_ns = 5'000'000'000;
constexpr std::int64_t end_of_file_ns = 10'000'000'000;  // the names of places may take seconds

// Those of the run that is alive.
constinit atomic<trace::writer*> writer_of_live_run{nullptr};
constinit atomic<trace::recorder*> recorder_of_live_run{nullptr};
constinit atomic<std::int32_t> users_of_live_run{0};

// While it lives, the writer and the recorder that it finds stay, although another thread ends the run. seq_cst: either
// this finds no run, or the end of the run waits for it.
class live_run {
 public:
  live_run() noexcept { users_of_live_run.fetch_add(1, seq_cst); }
  ~live_run() { users_of_live_run.fetch_sub(1, release); }  // pairs with has_no_users
  live_run(live_run const&) = delete;
  live_run& operator=(live_run const&) = delete;

  [[nodiscard]] trace::writer* its_writer() const noexcept { return writer_of_live_run.load(seq_cst); }
  [[nodiscard]] trace::recorder* its_recorder() const noexcept { return recorder_of_live_run.load(seq_cst); }
};

// Waits until no thread uses the writer and the recorder of the run that was alive. A thread that uses them is about to
// end the program, but it may have been stopped for good, so the wait has a limit.
[[nodiscard]] bool has_no_users() noexcept {
  return os::wait_until([] { return users_of_live_run.load(seq_cst) == 0; }, os::monotonic_ns() + end_of_file_ns);
}

// For a program that ends by exit() on a goroutine, so that its run has no end. On any other thread another thread may
// end the run at this moment. In a handler that has interrupted the runtime, the thread may hold a lock.
void end_at_exit() noexcept {
  M const* const m = current_m();
  if (m == nullptr || m->current == nullptr || m->is_foreign || m->in_runtime.load(relaxed)) return;
  live_run const run;
  trace::writer* const its = run.its_writer();
  if (its != nullptr && !its->stop().was_tracing) its->wait_for_end_of_file(end_of_file_ns);
}

// The function for exit() runs after the one that stops all other goroutines, because it is registered before
// (watch_for_exit).
void watch_for_the_end() noexcept {
  static constinit atomic<bool> is_done{false};
  if (is_done.exchange(true, relaxed)) return;  // relaxed: one run at a time
  // without memory for it, the file ends some milliseconds before the program does
  static_cast<void>(std::atexit([] { end_at_exit(); }));
}

constinit atomic<int> traces_of_process{0};

void tell_of_incomplete(trace::writer::stop_result const& ended) noexcept {
  if (ended.error == 0) return;
  print_error("thrum: the trace %s is not complete: write: %s", ended.path.c_str(), std::strerror(ended.error));
}

}  // namespace

void flush_traces_before_death() noexcept {
  live_run const run;
  if (trace::writer const* const its = run.its_writer()) its->flush(last_round_ns);
  if (trace::recorder* const its = run.its_recorder()) its->write_at_death(last_snapshot_ns);
}

trace_of_run::trace_of_run(Sched& s) : sched_(s) {
  auto writer = std::make_unique<trace::writer>(s);
  recorder_ = std::make_unique<trace::recorder>(s).release();
  writer_ = writer.release();
  s.trace.its_writer = writer_;
  s.trace.its_recorder = recorder_;
  watch_for_the_end();
}

trace_of_run::~trace_of_run() {
  if (!end()) return;
  delete recorder_;
  delete writer_;
}

void trace_of_run::start_if_asked() {
  writer_of_live_run.store(writer_, seq_cst);
  recorder_of_live_run.store(recorder_, seq_cst);
  char const* const name = os::environment("THRUM_TRACE");
  bool const has_name = name != nullptr && *name != '\0';
  if (char const* const asked = os::environment("THRUM_TRACE_SIGNAL"); asked != nullptr && *asked != '\0') {
    pattern_ = has_name ? name : "thrum-%p.trace";
    auto const answer = [](void* self) noexcept { static_cast<trace_of_run*>(self)->begin_or_end(); };
    signal_.emplace(sched_, signal_number_of(asked), answer, this);
    return;
  }
  if (!has_name) return;
  std::string path;
  auto const result = start_next(name, path);
  if (result.outcome == trace::writer::start_outcome::failed) throw_start_error("THRUM_TRACE", path, result);
}

trace::writer::start_result trace_of_run::start_next(char const* pattern, std::string& path) {
  path = file_of_run(pattern, traces_of_process);
  auto result = writer_->start(path);
  if (result.outcome == trace::writer::start_outcome::failed && result.error == EBUSY) {
    // As a rule it is the file of the parent, from which this process has the variable.
    path += '.';
    path += std::to_string(os::process_id());
    result = writer_->start(path);
  }
  return result;
}

// On the thread of the signal.
void trace_of_run::begin_or_end() noexcept {
  if (auto const ended = writer_->stop(); ended.was_tracing) {
    tell_of_incomplete(ended);
    return;
  }
  try {
    std::string path;
    switch (auto const begun = start_next(pattern_.c_str(), path); begun.outcome) {
      case trace::writer::start_outcome::done: break;
      case trace::writer::start_outcome::already_tracing:
        print_error("thrum: THRUM_TRACE_SIGNAL: the flight recorder is on, or a trace is just ending");
        break;
      case trace::writer::start_outcome::failed:
        print_error("thrum: THRUM_TRACE_SIGNAL: %s %s: %s", begun.call, path.c_str(), std::strerror(begun.error));
    }
  } catch (std::bad_alloc const&) {
    print_error("thrum: THRUM_TRACE_SIGNAL: no memory for a trace");
  }
}

bool trace_of_run::end() noexcept {
  if (writer_ == nullptr) return true;
  writer_of_live_run.store(nullptr, seq_cst);
  recorder_of_live_run.store(nullptr, seq_cst);
  signal_.reset();
  bool const is_used = !has_no_users();
  auto const result = writer_->stop();
  tell_of_incomplete(result);
  if (!result.was_tracing) writer_->wait_for_end_of_file(end_of_file_ns);
  static_cast<void>(recorder_->stop());
  if (is_used || writer_->is_changing() || recorder_->is_changing()) {
    abandon();
    return false;
  }
  return true;
}

void trace_of_run::abandon() noexcept {
  writer_ = nullptr;
  recorder_ = nullptr;
}

void throw_start_error(char const* caller, std::string const& path, trace::writer::start_result const& why) {
  throw std::system_error(why.error, std::generic_category(), std::string(caller) + ": " + why.call + " " + path);
}

}  // namespace thrum::rt
