// The functions of <thrum/trace.h>.
#include "boot/trace_of_run.h"
#include "core/current.h"
#include "core/forked.h"
#include "core/trace.h"
#include "debug/trace_recorder.h"
#include "debug/trace_writer.h"
#include "net/address.h"
#include "sched/world.h"
#include <thrum/blocking.h>
#include <thrum/trace.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

namespace thrum::trace {
namespace {

using rt::M;
using rt::trace::bracket;
using rt::trace::kind;
using rt::trace::recorder;
using rt::trace::writer;

// Returns the caller's M, inside the runtime. nullptr: no run is alive, or the run of a foreign thread has just ended.
M* enter() noexcept {
  M* const m = rt::callers_m();
  return m != nullptr && rt::enter_if_alive(*m) ? m : nullptr;
}

M& enter_or_throw() {
  if (M* const m = enter()) return *m;
  throw std::logic_error(std::string("thrum::trace needs a runtime, but ") + rt::why_no_runtime());
}

// The run of the caller. Its memory stays as long as this object lives, also if the caller is a foreign thread.
class callers_run {
 public:
  // The caller is inside the runtime, and is outside afterwards.
  explicit callers_run(M& m) noexcept : m_(m), trace_(m.sched.trace) {
    rt::keep_run(m_);
    rt::leave_runtime(m_);
  }
  ~callers_run() { rt::let_run_go(m_); }
  callers_run(callers_run const&) = delete;
  callers_run& operator=(callers_run const&) = delete;

  [[nodiscard]] writer& its_writer() const noexcept { return *trace_.its_writer; }
  [[nodiscard]] recorder& its_recorder() const noexcept { return *trace_.its_recorder; }

 private:
  M& m_;  // a goroutine may go on on another one
  rt::trace::trace_state& trace_;
};

template <class F>
auto as_long_call(F f) {
  return blocking(std::move(f), blocking_hint::long_call);
}

// The second step of a snapshot.
void note_chunks(recorder& its) {
  M& m = enter_or_throw();
  {
    rt::stopped_world const world(m);
    its.note_chunks();
  }
  rt::leave_runtime(m);
}

recorder::result make_snapshot(std::string const& path) {
  callers_run const run(enter_or_throw());
  recorder& its = run.its_recorder();
  recorder::result const begun = as_long_call([&] { return its.begin_snapshot(); });
  if (begun.how != recorder::outcome::done) return begun;
  try {
    note_chunks(its);
  } catch (std::logic_error const&) {
    its.give_snapshot_up();
    throw;
  }
  return as_long_call([&] { return its.finish_snapshot(path); });
}

// Whether it makes sense to look further: on a thread that runs no goroutine, this takes no lock.
bool may_be_traced() noexcept { return rt::current_m() != nullptr || rt::trace::some_trace_is_on.load(rt::relaxed); }

// Writes a text event of the calling goroutine, or of a thread from outside. Returns false if no trace is on.
bool note_text(kind what, bracket which, std::uint64_t const* task, std::string_view text) noexcept {
  if (!may_be_traced()) return false;
  M* const m = rt::callers_m();
  if (m == nullptr || m->current == nullptr) return false;
  if (m->in_runtime.load(rt::relaxed)) return false;  // a signal handler that has interrupted the runtime
  if (!m->is_foreign && !m->sched.trace.is_written()) return false;
  if (!rt::enter_if_alive(*m)) return false;
  bool const is_wanted = m->sched.trace.is_written();
  if (is_wanted) {
    std::uint64_t const goroutine = m->is_foreign ? 0 : m->current->id;
    std::uint8_t const number = m->is_foreign ? 0 : m->current->trace_records++;
    m->p->trace.write_text(m->sched.trace.chunks, what, number, static_cast<std::uint8_t>(which), goroutine, task,
                           text);
  }
  rt::leave_runtime(*m);
  return is_wanted;
}

void require_name(char const* caller, std::string const& path) {
  if (!rt::has_nul(path)) return;
  throw std::system_error(std::make_error_code(std::errc::invalid_argument),
                          std::string(caller) + ": the name of the file contains a NUL character");
}

constinit rt::atomic<std::uint64_t> tasks{0};

}  // namespace

void start(std::string const& path) {
  require_name("thrum::trace::start", path);
  callers_run const run(enter_or_throw());
  auto const result = as_long_call([&] { return run.its_writer().start(path); });
  switch (result.outcome) {
    case writer::start_outcome::done: return;
    case writer::start_outcome::already_tracing:
      throw std::logic_error("thrum::trace::start: a trace is being written already; stop() ends it");
    case writer::start_outcome::failed: rt::throw_start_error("thrum::trace::start", path, result);
  }
}

bool stop() {
  M* const m = enter();
  if (m == nullptr) return false;
  callers_run const run(*m);
  auto const result = as_long_call([&] { return run.its_writer().stop(); });
  if (result.error != 0)
    throw std::system_error(result.error, std::generic_category(), "thrum::trace::stop: write " + result.path);
  return result.was_tracing;
}

void start_recorder(recorder_options const& chosen) {
  require_name("thrum::trace::start_recorder", chosen.file_at_death);
  callers_run const run(enter_or_throw());
  auto const result = as_long_call([&] {
    return run.its_recorder().start({chosen.bytes, chosen.age.count(), chosen.file_at_death});
  });
  if (result.how == recorder::outcome::in_use)
    throw std::logic_error("thrum::trace::start_recorder: a trace is being written or recorded already");
  if (result.how == recorder::outcome::failed)
    throw std::system_error(result.error, std::generic_category(),
                            std::string("thrum::trace::start_recorder: ") + result.call);
}

bool stop_recorder() {
  M* const m = enter();
  if (m == nullptr) return false;
  callers_run const run(*m);
  return as_long_call([&] { return run.its_recorder().stop(); });
}

namespace {

[[noreturn]] void throw_snapshot_error(char const* caller, std::string const& path, recorder::result const& why) {
  throw std::system_error(why.error, std::generic_category(), std::string(caller) + ": write " + path);
}

// On a thread from outside, the run may end meanwhile.
bool snapshot_is_due(std::chrono::nanoseconds apart) noexcept {
  M* const m = may_be_traced() ? rt::callers_m() : nullptr;
  if (m == nullptr || !rt::enter_if_alive(*m)) return false;
  bool const is_due = m->sched.trace.is_written() && m->sched.trace.its_recorder->is_due(apart.count());
  rt::leave_runtime(*m);
  return is_due;
}

}  // namespace

void snapshot(std::string const& path) {
  require_name("thrum::trace::snapshot", path);
  auto const result = make_snapshot(path);
  switch (result.how) {
    case recorder::outcome::done: return;
    case recorder::outcome::off:
      throw std::logic_error("thrum::trace::snapshot: the recorder is off; start_recorder starts it");
    case recorder::outcome::in_use: throw std::logic_error("thrum::trace::snapshot: another snapshot is being written");
    case recorder::outcome::failed: throw_snapshot_error("thrum::trace::snapshot", path, result);
  }
}

bool snapshot_at_times(std::string const& path, std::chrono::nanoseconds apart) {
  require_name("thrum::trace::snapshot_at_times", path);
  if (!snapshot_is_due(apart)) return false;
  auto const result = make_snapshot(path);
  if (result.how == recorder::outcome::failed) throw_snapshot_error("thrum::trace::snapshot_at_times", path, result);
  return result.how == recorder::outcome::done;
}

bool is_on() noexcept { return rt::trace::some_trace_is_on.load(rt::relaxed); }

region::region(std::string_view name) noexcept
    : is_recorded_(note_text(kind::region, bracket::begins, nullptr, name)) {}

region::~region() {
  if (is_recorded_) static_cast<void>(note_text(kind::region, bracket::ends, nullptr, {}));
}

task::task(std::string_view name) noexcept : id_(tasks.fetch_add(std::uint64_t{1}, rt::relaxed) + 1) {
  static_cast<void>(note_text(kind::task, bracket::begins, &id_, name));
}

void task::end() noexcept { static_cast<void>(note_text(kind::task, bracket::ends, &id_, {})); }

void log(std::string_view message) noexcept {
  std::uint64_t const none = 0;
  static_cast<void>(note_text(kind::log, bracket::begins, &none, message));
}

void log(task const& about, std::string_view message) noexcept {
  std::uint64_t const id = about.id();
  static_cast<void>(note_text(kind::log, bracket::begins, &id, message));
}

}  // namespace thrum::trace
