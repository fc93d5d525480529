// The numbers and names of docs/trace-format.md. The reader is written from that document alone, so it shares nothing
// with the writer in the runtime, and a mistake of one of them shows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace thrum::command {

inline constexpr std::uint32_t format_version = 1;
inline constexpr std::size_t bytes_of_file_header = 64;
inline constexpr std::size_t bytes_of_block_header = 40;
// The streams from this number on belong to threads without a P.
inline constexpr std::uint16_t first_stream_without_p = 0xfff0;

enum class block_kind : std::uint16_t { events = 1, clock, modules, sites, end, complete_from };

enum class record_kind : std::uint8_t {
  none = 0,
  create = 1,
  start,
  stop,
  yield,
  end,
  ready,
  call,
  call_return,
  host,
  hosted,
  name,
  holder,
  take = 20,
  release,
  m,
  spin,
  spun,
  steal,
  global,
  stop_world,
  world_stopped,
  start_world,
  timers,
  poll,
  scavenge,
  preempt,
  region = 40,
  task,
  log,
  clock = 60,
};

// Whom a record is about, and so which sequence its number belongs to.
enum class subject : std::uint8_t { none, goroutine, m };

struct record_format {
  char const* name;
  std::uint8_t numbers;  // the arguments that are one word each
  bool has_text;         // one more argument, which is a text
  subject about;
  std::uint8_t details;  // the details are the numbers below this one
};
// nullptr: this program does not know the kind, and the record is to be skipped. If such a kind is about a goroutine,
// which its number tells, the format is that of any record about a goroutine, because its sequence number counts.
[[nodiscard]] record_format const* format_of(record_kind kind) noexcept;
[[nodiscard]] bool is_known(record_kind kind) noexcept;

// What a goroutine does. The table of the document names the state before and after each record.
enum class g_state : std::uint8_t { absent, runnable, running, waiting, in_call, hosting, unknown };
inline constexpr std::size_t g_states = 7;
[[nodiscard]] char const* name_of(g_state state) noexcept;

struct state_change {
  g_state before, after;
};
// Whether a record of this kind changes the state of its goroutine.
[[nodiscard]] bool changes_state(record_kind kind) noexcept;
// Of a kind for which changes_state is true.
[[nodiscard]] state_change change_of(record_kind kind, std::uint8_t detail) noexcept;

inline constexpr std::uint8_t reason_io = 19;
// Whether a goroutine that stops for this reason waits for a lock that another goroutine may hold.
[[nodiscard]] bool waits_for_lock(std::uint8_t reason) noexcept;
[[nodiscard]] char const* name_of_reason(std::uint8_t reason) noexcept;
[[nodiscard]] char const* name_of_m_state(std::uint8_t state) noexcept;
// The object for which a goroutine waits: "descriptor 5, reading" or "0x7f12...". It is empty if it is not known.
[[nodiscard]] std::string name_of_object(std::uint8_t reason, std::uint64_t object);

}  // namespace thrum::command
