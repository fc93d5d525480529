// The records of a trace and the blocks of a trace file. docs/trace-format.md explains them; a test compares the tables
// there with the numbers here.
#pragma once

#include <array>
#include <cstdint>

namespace thrum::rt::trace {

// The kinds of records.
enum class kind : std::uint8_t {
  // goroutines
  create = 1,
  start = 2,
  stop = 3,
  yield = 4,
  end = 5,
  ready = 6,
  call = 7,
  comes_back = 8,
  host = 9,
  hosted = 10,
  name = 11,
  holder = 12,
  // Ps and Ms
  take = 20,
  release = 21,
  m = 22,
  spin = 23,
  spun = 24,
  steal = 25,
  global = 26,
  stop_world = 27,
  world_stopped = 28,
  start_world = 29,
  timers = 30,
  poll = 31,
  scavenge = 32,
  preempt = 33,
  // the program's own
  region = 40,
  task = 41,
  log = 42,
  // times
  clock = 60,
};

// The details of records, for the kinds that have them.
enum class create_detail : std::uint8_t { plainly = 0, joinable = 1, by_timer = 2 };
enum class start_detail : std::uint8_t { with_slice = 0, inherits_slice = 1, in_place = 2, on_own_thread = 3 };
enum class yield_detail : std::uint8_t { by_call = 0, when_asked = 1, paused = 2, made_way = 3 };
enum class end_detail : std::uint8_t { normally = 0, in_place = 1 };
enum class ready_detail : std::uint8_t { next = 0, tail = 1, global = 2 };
enum class call_detail : std::uint8_t { short_call = 0, long_call = 1, unannounced = 2 };
enum class return_detail : std::uint8_t { to_old_p = 0, to_idle_p = 1, without_p = 2 };
enum class release_detail : std::uint8_t { given_up = 0, in_call = 1, taken_by_sysmon = 2 };
enum class spin_detail : std::uint8_t { in_vain = 0, found_work = 1 };
enum class bracket : std::uint8_t { begins = 0, ends = 1 };

// The first word of a record.
struct head {
  static constexpr std::uint64_t of(kind what, std::size_t words, std::uint8_t number, std::uint8_t detail,
                                    std::uint64_t ticks_since_base) noexcept {
    return static_cast<std::uint64_t>(what) | static_cast<std::uint64_t>(words) << 8U |
           static_cast<std::uint64_t>(number) << 16U | static_cast<std::uint64_t>(detail) << 24U |
           ticks_since_base << 32U;
  }
  static constexpr kind kind_of(std::uint64_t word) noexcept { return static_cast<kind>(word & 0xffU); }
  static constexpr std::size_t words_of(std::uint64_t word) noexcept { return (word >> 8U) & 0xffU; }
  static constexpr std::uint64_t ticks_since_base_of(std::uint64_t word) noexcept { return word >> 32U; }
};
inline constexpr std::size_t record_words_max = 255;

// Streams of threads without a P. Every other stream has the number of its P.
inline constexpr std::uint16_t first_loose_stream = 0xfff0;
inline constexpr std::size_t loose_streams = 16;

// --- the file ---

inline constexpr std::uint32_t version = 1;
inline constexpr std::uint32_t written_by_recorder = 1;  // a flag of the header

enum class block_kind : std::uint16_t { events = 1, clock = 2, modules = 3, sites = 4, end = 5, complete_from = 6 };

struct file_header {
  std::array<char, 8> magic{'t', 'h', 'r', 'u', 'm', 't', 'r', 'c'};
  std::uint32_t version = trace::version;
  std::uint32_t header_bytes = 64;
  std::uint64_t ticks_per_second = 0;
  std::uint64_t start_ticks = 0;
  std::int64_t start_monotonic_ns = 0;
  std::int64_t start_realtime_ns = 0;
  std::uint32_t process = 0;
  std::uint32_t architecture = 0;
  std::uint32_t flags = 0;
  std::uint32_t procs = 0;
};
static_assert(sizeof(file_header) == 64);

struct block_header {
  std::array<char, 4> magic{'T', 'H', 'R', 'B'};
  block_kind kind = block_kind::events;
  std::uint16_t stream = 0;
  std::uint32_t bytes = 0;
  std::uint32_t number = 0;
  std::uint64_t base_ticks = 0;
  std::uint64_t lost = 0;
  std::uint64_t unused = 0;
};
static_assert(sizeof(block_header) == 40);

}  // namespace thrum::rt::trace
