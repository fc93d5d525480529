#include "command/trace/format.h"

#include "command/trace/text.h"

#include <array>

namespace thrum::command {
namespace {

constexpr std::array<char const*, 20> reasons{
    "none",        "semaphore",          "mutex",  "wait_group",   "once",
    "join",        "stack_memory",       "sleep",  "chan_send",    "chan_receive",
    "send_on_nil", "receive_on_nil",     "select", "empty_select", "read_lock",
    "write_lock",  "condition_variable", "latch",  "barrier",      "io"};

constexpr std::array<char const*, 15> m_states{
    "threadless", "starting", "starting_without_p", "awake",    "idle",          "timekeeper", "roused", "in_place",
    "queued",     "paused",   "paused_in_libc",     "resuming", "waits_for_end", "dismissed",  "let_go"};

constexpr std::array<char const*, g_states> g_state_names{"absent",  "runnable", "running", "waiting",
                                                          "in call", "hosting",  "unknown"};

constexpr record_format of_goroutine(char const* name, std::uint8_t numbers, std::uint8_t details) {
  return {name, numbers, false, subject::goroutine, details};
}
constexpr record_format of_scheduler(char const* name, std::uint8_t numbers, std::uint8_t details = 1) {
  return {name, numbers, false, subject::none, details};
}

struct numbered_format {
  record_kind kind;
  record_format format;
};

using k = record_kind;
constexpr std::array formats{
    numbered_format{k::create, of_goroutine("create", 3, 3)},
    numbered_format{k::start, of_goroutine("start", 1, 4)},
    numbered_format{k::stop, of_goroutine("stop", 2, reasons.size())},
    numbered_format{k::yield, of_goroutine("yield", 1, 4)},
    numbered_format{k::end, of_goroutine("end", 1, 2)},
    numbered_format{k::ready, of_goroutine("ready", 3, 3)},
    numbered_format{k::call, of_goroutine("call", 2, 3)},
    numbered_format{k::call_return, of_goroutine("return", 1, 3)},
    numbered_format{k::host, of_goroutine("host", 2, 1)},
    numbered_format{k::hosted, of_goroutine("hosted", 1, 1)},
    numbered_format{k::name, {"name", 1, true, subject::goroutine, 1}},
    numbered_format{k::holder, of_goroutine("holder", 2, 1)},
    numbered_format{k::take, of_scheduler("take", 1)},
    numbered_format{k::release, of_scheduler("release", 1, 3)},
    numbered_format{k::m, {"m", 2, false, subject::m, m_states.size()}},
    numbered_format{k::spin, of_scheduler("spin", 1)},
    numbered_format{k::spun, of_scheduler("spun", 1, 2)},
    numbered_format{k::steal, of_scheduler("steal", 2)},
    numbered_format{k::global, of_scheduler("global", 1)},
    numbered_format{k::stop_world, of_scheduler("stop_world", 0)},
    numbered_format{k::world_stopped, of_scheduler("world_stopped", 0)},
    numbered_format{k::start_world, of_scheduler("start_world", 1)},
    numbered_format{k::timers, of_scheduler("timers", 1)},
    numbered_format{k::poll, of_scheduler("poll", 1)},
    numbered_format{k::scavenge, of_scheduler("scavenge", 1)},
    numbered_format{k::preempt, of_scheduler("preempt", 1)},
    numbered_format{k::region, {"region", 1, true, subject::goroutine, 2}},
    numbered_format{k::task, {"task", 2, true, subject::goroutine, 2}},
    numbered_format{k::log, {"log", 2, true, subject::goroutine, 1}},
    numbered_format{k::clock, of_scheduler("clock", 1)},
};

constexpr auto make_index() {
  std::array<std::uint8_t, 256> index{};  // 0: no such kind, otherwise the place in `formats` plus 1
  for (std::size_t i = 0; i < formats.size(); ++i) index[static_cast<std::uint8_t>(formats[i].kind)] = i + 1;
  return index;
}
constexpr auto index_of_formats = make_index();

// The document keeps these numbers for records about goroutines.
constexpr bool is_about_goroutine(record_kind kind) {
  auto const number = static_cast<std::uint8_t>(kind);
  return (number >= 1 && number < 20) || (number >= 40 && number < 50);
}
constexpr record_format unknown_of_goroutine = of_goroutine("unknown", 1, 255);

}  // namespace

bool is_known(record_kind kind) noexcept { return index_of_formats[static_cast<std::uint8_t>(kind)] != 0; }

record_format const* format_of(record_kind kind) noexcept {
  std::uint8_t const place = index_of_formats[static_cast<std::uint8_t>(kind)];
  if (place != 0) return &formats[place - 1].format;
  return is_about_goroutine(kind) ? &unknown_of_goroutine : nullptr;
}

char const* name_of(g_state state) noexcept { return g_state_names[static_cast<std::size_t>(state)]; }

bool changes_state(record_kind kind) noexcept { return kind >= record_kind::create && kind <= record_kind::hosted; }

state_change change_of(record_kind kind, std::uint8_t detail) noexcept {
  using enum g_state;
  switch (kind) {
    case record_kind::create: return {absent, runnable};
    case record_kind::start: return {runnable, running};
    case record_kind::stop: return {running, waiting};
    case record_kind::yield: return {running, runnable};
    case record_kind::end: return {running, absent};
    case record_kind::ready: return {waiting, runnable};
    case record_kind::call: return {running, in_call};
    case record_kind::call_return: return {in_call, detail == 2 ? runnable : running};
    case record_kind::host: return {running, hosting};
    case record_kind::hosted: return {hosting, running};
    default: return {unknown, unknown};
  }
}

bool waits_for_lock(std::uint8_t reason) noexcept {
  constexpr std::uint8_t mutex = 2, read_lock = 14, write_lock = 15;
  return reason == mutex || reason == read_lock || reason == write_lock;
}

char const* name_of_reason(std::uint8_t reason) noexcept {
  return reason < reasons.size() ? reasons[reason] : "an unknown reason";
}

char const* name_of_m_state(std::uint8_t state) noexcept {
  return state < m_states.size() ? m_states[state] : "an unknown state";
}

std::string name_of_object(std::uint8_t reason, std::uint64_t object) {
  if (reason == reason_io) {
    return "descriptor " + std::to_string(object / 2) + (object % 2 != 0 ? ", writing" : ", reading");
  }
  return object == 0 ? "" : hex(object);
}

}  // namespace thrum::command
