// Writes trace files in memory, from docs/trace-format.md alone. A tick is a nanosecond.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace thrum::test {

// The kinds of records.
namespace kind {
enum : std::uint8_t {
  create = 1,
  start,
  stop,
  yield,
  end,
  ready,
  call,
  return_,
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
}  // namespace kind

class trace_builder {
 public:
  static constexpr std::uint64_t begin_ticks = 1'000'000;
  static constexpr std::int64_t begin_ns = 5'000'000'000;

  struct options {
    bool is_flight_record = false;
    std::uint64_t ticks_per_second = 1'000'000'000;
    std::uint32_t version = 1;
    std::uint32_t ps = 2;
  };
  trace_builder() : trace_builder(options{}) {}
  explicit trace_builder(options with) {
    bytes_ = "thrumtrc";
    put<std::uint32_t>(with.version);
    put<std::uint32_t>(64);
    put<std::uint64_t>(with.ticks_per_second);
    put<std::uint64_t>(begin_ticks);
    put<std::int64_t>(begin_ns);
    put<std::int64_t>(1'700'000'000'000'000'000);
    put<std::uint32_t>(4711);
    put<std::uint32_t>(1);
    put<std::uint32_t>(with.is_flight_record ? 1 : 0);
    put<std::uint32_t>(with.ps);
  }

  // A record about a goroutine, whose sequence number is counted here. The time is in ticks since the beginning.
  trace_builder& g(std::uint16_t stream, std::uint64_t at, std::uint8_t kind, std::uint64_t goroutine,
                   std::initializer_list<std::uint64_t> more = {}, std::uint8_t detail = 0) {
    std::vector<std::uint64_t> arguments{goroutine};
    arguments.insert(arguments.end(), more);
    return add(stream, at, kind, detail, g_numbers_[goroutine]++, arguments);
  }
  // The same with a text behind the numbers.
  trace_builder& g_text(std::uint16_t stream, std::uint64_t at, std::uint8_t kind, std::vector<std::uint64_t> arguments,
                        std::string_view text, std::uint8_t detail = 0) {
    std::uint8_t const number = g_numbers_[arguments.front()]++;
    arguments.push_back(text.size());
    std::size_t const words = arguments.size();
    arguments.resize(words + (text.size() + 7) / 8);
    if (!text.empty()) std::memcpy(arguments.data() + words, text.data(), text.size());
    return add(stream, at, kind, detail, number, arguments);
  }
  // A change of an M, whose sequence number is counted here.
  trace_builder& m(std::uint16_t stream, std::uint64_t at, std::uint64_t m, std::uint8_t state,
                   std::uint64_t thread = 0) {
    return add(stream, at, kind::m, state, m_numbers_[m]++, {m, thread});
  }
  // A record of the scheduler.
  trace_builder& s(std::uint16_t stream, std::uint64_t at, std::uint8_t kind,
                   std::vector<std::uint64_t> const& arguments = {}, std::uint8_t detail = 0) {
    return add(stream, at, kind, detail, 0, arguments);
  }
  // Any record. The records of a stream are collected until `flush`.
  trace_builder& add(std::uint16_t stream, std::uint64_t at, std::uint8_t kind, std::uint8_t detail,
                     std::uint8_t number, std::vector<std::uint64_t> const& arguments) {
    open_stream& of = streams_[stream];
    std::uint64_t const ticks = begin_ticks + at;
    if (of.words.empty()) of.base = ticks - 500;
    of.words.push_back(kind | (arguments.size() + 1) << 8U | std::uint64_t{number} << 16U |
                       std::uint64_t{detail} << 24U | (ticks - of.base) << 32U);
    of.words.insert(of.words.end(), arguments.begin(), arguments.end());
    return *this;
  }
  // Counts a record of the goroutine, but does not write it.
  trace_builder& lose(std::uint64_t goroutine, std::uint8_t records = 1) {
    g_numbers_[goroutine] += records;
    return *this;
  }
  trace_builder& lost_events(std::uint16_t stream, std::uint64_t so_far) {
    streams_[stream].lost = so_far;
    return *this;
  }
  trace_builder& skip_block(std::uint16_t stream, std::uint32_t blocks = 1) {
    streams_[stream].number += blocks;
    return *this;
  }

  // Writes what the stream has, as a block.
  trace_builder& flush(std::uint16_t stream) {
    open_stream& of = streams_[stream];
    block(1, stream, of.number++, of.base, of.lost, of.words);
    of.words.clear();
    return *this;
  }
  trace_builder& flush_all() {
    for (auto const& [stream, of] : streams_) {
      if (!of.words.empty()) flush(stream);
    }
    return *this;
  }
  trace_builder& block(std::uint16_t kind, std::uint16_t stream, std::uint32_t number, std::uint64_t ticks,
                       std::uint64_t lost, std::vector<std::uint64_t> const& words) {
    bytes_ += "THRB";
    put<std::uint16_t>(kind);
    put<std::uint16_t>(stream);
    put<std::uint32_t>(static_cast<std::uint32_t>(words.size() * 8));
    put<std::uint32_t>(number);
    put<std::uint64_t>(ticks);
    put<std::uint64_t>(lost);
    put<std::uint64_t>(0);
    for (std::uint64_t const each : words) put(each);
    return *this;
  }

  trace_builder& clock(std::uint64_t ticks, std::int64_t ns) {
    return block(2, 0, 0, 0, 0, {begin_ticks + ticks, static_cast<std::uint64_t>(begin_ns + ns)});
  }
  trace_builder& module(std::uint64_t begin, std::uint64_t end, std::uint64_t difference, std::string_view path) {
    return block(3, 0, 0, 0, 0, with_texts({begin, end, difference}, "\x01\x02\x03", path));
  }
  trace_builder& site(std::uint64_t address, std::string_view function, std::string_view place) {
    return block(4, 0, 0, 0, 0, with_texts({address}, function, place));
  }
  // Blocks that are not yet written stay behind this one.
  trace_builder& complete_from(std::uint64_t at) { return block(6, 0, 0, 0, 0, {begin_ticks + at}); }
  trace_builder& end(std::uint64_t lost = 0) {
    flush_all();
    return block(5, 0, 0, 0, 0, {lost});
  }
  // Bytes as they are.
  trace_builder& raw(std::string_view bytes) {
    bytes_ += bytes;
    return *this;
  }

  [[nodiscard]] std::string const& bytes() const noexcept { return bytes_; }

 private:
  struct open_stream {
    std::vector<std::uint64_t> words;
    std::uint64_t base = 0;
    std::uint32_t number = 0;
    std::uint64_t lost = 0;
  };

  template <class T>
  void put(T number) {
    char raw[sizeof number];
    std::memcpy(raw, &number, sizeof number);
    bytes_.append(raw, sizeof number);
  }

  static std::vector<std::uint64_t> with_texts(std::vector<std::uint64_t> words, std::string_view first,
                                               std::string_view second) {
    words.push_back(first.size() | std::uint64_t{second.size()} << 32U);
    std::string texts = std::string(first) + std::string(second);
    texts.resize((texts.size() + 7) / 8 * 8);
    std::size_t const at = words.size();
    words.resize(at + texts.size() / 8);
    if (!texts.empty()) std::memcpy(words.data() + at, texts.data(), texts.size());
    return words;
  }

  std::string bytes_;
  std::map<std::uint16_t, open_stream> streams_;
  std::map<std::uint64_t, std::uint8_t> g_numbers_;
  std::map<std::uint64_t, std::uint8_t> m_numbers_;
};

}  // namespace thrum::test
