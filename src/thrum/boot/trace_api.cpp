// The functions of <thrum/trace.h>.
#include "boot/trace_of_run.h"
#include "core/current.h"
#include "core/forked.h"
#include "core/trace.h"
#include "debug/trace_recorder.h"
#include "debug/trace_writer.h"
#include "sched/world.h"
#include <thrum/blocking.h>
#include <thrum/trace.h>

#include <stdexcept>
#include <string>
#include <system_error>

namespace thrum::trace {
namespace {

using rt::M;
using rt::trace::bracket;
using rt::trace::kind;
using rt::trace::writer;

// Calls f(writer&) as a blocking call, with the writer of the run that is alive.
template <class F>
auto with_writer(F f) {
  M* const m = rt::callers_m();
  if (m == nullptr) throw std::logic_error(std::string("thrum::trace needs a runtime, but ") + rt::why_no_runtime());
  writer& its = *m->sched.trace.its_writer;
  return blocking([&] { return f(its); }, blocking_hint::long_call);
}

// Writes a text event of the calling goroutine. Returns false if no trace is on or the caller has no goroutine.
bool note_text(kind what, bracket which, std::uint64_t const* task, std::string_view text) noexcept {
  M* const m = rt::callers_m();
  if (m == nullptr || !m->sched.trace.is_on() || m->current == nullptr || !rt::enter_if_alive(*m)) return false;
  rt::G& g = *m->current;
  m->p->trace.write_text(m->sched.trace.chunks, what, g.trace_records++, static_cast<std::uint8_t>(which), g.id, task,
                         text);
  rt::leave_runtime(*m);
  return true;
}

constinit rt::atomic<std::uint64_t> tasks{0};

}  // namespace

void start(std::string const& path) {
  if (path.find('\0') != std::string::npos)
    throw std::system_error(std::make_error_code(std::errc::invalid_argument),
                            "thrum::trace::start: the name contains NUL");
  auto const result = with_writer([&](writer& its) { return its.start(path); });
  switch (result.outcome) {
    case writer::start_outcome::done: return;
    case writer::start_outcome::already_tracing:
      throw std::logic_error("thrum::trace::start: a trace is being written already; stop() ends it");
    case writer::start_outcome::failed: rt::throw_start_error("thrum::trace::start", path, result);
  }
}

bool stop() {
  if (rt::callers_m() == nullptr) return false;
  std::string path;
  auto const result = with_writer([&](writer& its) {
    path = its.path();
    return its.stop();
  });
  if (result.error != 0)
    throw std::system_error(result.error, std::generic_category(), "thrum::trace::stop: write " + path);
  return result.was_tracing;
}

namespace {

rt::trace::recorder& recorder_of(M* m) {
  if (m == nullptr) throw std::logic_error(std::string("thrum::trace needs a runtime, but ") + rt::why_no_runtime());
  return *m->sched.trace.its_recorder;
}

void require_name(char const* caller, std::string const& path) {
  if (path.find('\0') == std::string::npos) return;
  throw std::system_error(std::make_error_code(std::errc::invalid_argument),
                          std::string(caller) + ": the name of the file contains a NUL character");
}

}  // namespace

void start_recorder(recorder_options const& chosen) {
  require_name("thrum::trace::start_recorder", chosen.file_at_death);
  auto& its = recorder_of(rt::callers_m());
  auto const result = blocking(
      [&] {
        return its.start({chosen.bytes, chosen.age.count(), chosen.file_at_death});
      },
      blocking_hint::long_call);
  if (result.how == rt::trace::recorder::outcome::in_use)
    throw std::logic_error("thrum::trace::start_recorder: a trace is being written or recorded already");
  if (result.how == rt::trace::recorder::outcome::failed)
    throw std::system_error(result.error, std::generic_category(),
                            std::string("thrum::trace::start_recorder: ") + result.call);
}

bool stop_recorder() {
  M* const m = rt::callers_m();
  return m != nullptr && blocking([&] { return recorder_of(m).stop(); }, blocking_hint::long_call);
}

void snapshot(std::string const& path) {
  require_name("thrum::trace::snapshot", path);
  M* const m = rt::callers_m();
  auto& its = recorder_of(m);
  if (!its.is_on()) throw std::logic_error("thrum::trace::snapshot: the recorder is off; start_recorder starts it");
  rt::enter_runtime(*m);
  {
    rt::stopped_world const world(*m);
    rt::trace::recorder::close_streams(m->sched);
  }
  rt::leave_runtime(*m);
  auto const result = blocking([&] { return its.snapshot(path); }, blocking_hint::long_call);
  if (result.how == rt::trace::recorder::outcome::in_use)
    throw std::logic_error("thrum::trace::snapshot: another snapshot is being written");
  if (result.how == rt::trace::recorder::outcome::failed)
    throw std::system_error(result.error, std::generic_category(), "thrum::trace::snapshot: write " + path);
}

bool is_on() noexcept {
  M const* const m = rt::callers_m();
  return m != nullptr && m->sched.trace.is_on();
}

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
