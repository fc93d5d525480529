#include "boot/trace_of_run.h"

#include "base/check.h"
#include "boot/start_error.h"
#include "os/env.h"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <system_error>

namespace thrum::rt {
namespace {

constexpr std::int64_t last_round_ns = 200'000'000;
constexpr std::int64_t last_snapshot_ns = 5'000'000'000;

// Those of the run that is alive.
constinit atomic<trace::writer*> writer_of_live_run{nullptr};
constinit atomic<trace::recorder*> recorder_of_live_run{nullptr};

// For a program that ends by exit() on a goroutine, so that its run has no end.
void end_at_exit() noexcept {
  if (trace::writer* const its = writer_of_live_run.load(acquire)) static_cast<void>(its->stop());
}

// For a program that ends with a report.
void flush_before_end() noexcept {
  if (trace::writer const* const its = writer_of_live_run.load(acquire)) its->flush(last_round_ns);
  if (trace::recorder* const its = recorder_of_live_run.load(acquire)) its->write_at_death(last_snapshot_ns);
}

void watch_for_the_end() noexcept {
  static constinit atomic<bool> is_done{false};
  if (is_done.exchange(true, relaxed)) return;  // relaxed: one run at a time
  // without memory for it, the file ends some milliseconds before the program does
  static_cast<void>(std::atexit([] { end_at_exit(); }));
  set_before_death(flush_before_end);
}

// The file of this run: each later run of the process has a number behind the name.
std::string name_for_this_run(char const* name) {
  static constinit atomic<int> runs{0};
  int const number = runs.fetch_add(1, relaxed) + 1;
  return number == 1 ? std::string(name) : std::string(name) + "." + std::to_string(number);
}

}  // namespace

trace_of_run::trace_of_run(Sched& s) : sched_(s) {
  auto writer = std::make_unique<trace::writer>(s);
  recorder_ = std::make_unique<trace::recorder>(s).release();
  writer_ = writer.release();
  s.trace.its_writer = writer_;
  s.trace.its_recorder = recorder_;
}

trace_of_run::~trace_of_run() { end(); }

void trace_of_run::start_if_asked() {
  watch_for_the_end();
  writer_of_live_run.store(writer_, release);
  recorder_of_live_run.store(recorder_, release);
  char const* const name = os::environment("THRUM_TRACE");
  if (name == nullptr || *name == '\0') return;
  std::string const path = name_for_this_run(name);
  auto const result = writer_->start(path);
  if (result.outcome == trace::writer::start_outcome::failed) throw_start_error("THRUM_TRACE", path, result);
}

void trace_of_run::end() noexcept {
  if (writer_ == nullptr) return;
  writer_of_live_run.store(nullptr, relaxed);
  recorder_of_live_run.store(nullptr, relaxed);
  auto const result = writer_->stop();
  if (result.error != 0) {
    print_error("thrum: the trace %s is not complete: write: %s", writer_->path().c_str(), std::strerror(result.error));
  }
  static_cast<void>(recorder_->stop());
  if (!writer_->is_changing() && !recorder_->is_changing()) {
    sched_.trace.its_writer = nullptr;
    sched_.trace.its_recorder = nullptr;
    delete recorder_;
    delete writer_;
  }
  abandon();
}

void trace_of_run::abandon() noexcept {
  writer_ = nullptr;
  recorder_ = nullptr;
}

void throw_start_error(char const* caller, std::string const& path, trace::writer::start_result const& why) {
  throw std::system_error(why.error, std::generic_category(), std::string(caller) + ": " + why.call + " " + path);
}

}  // namespace thrum::rt
