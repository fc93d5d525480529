#include "debug/trace_output.h"

#include "core/sched.h"
#include "debug/program_places.h"
#include "debug/symbols.h"
#include "debug/trace_modules.h"
#include "os/clock.h"
#include "os/thread.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

namespace thrum::rt::trace {
namespace {

constexpr std::int64_t calibration_ns = 200'000;

template <class T>
std::span<std::byte const> bytes_of(T const& value) {
  return std::as_bytes(std::span(&value, 1));
}

void append(std::vector<std::byte>& to, void const* from, std::size_t count) {
  auto const* const first = static_cast<std::byte const*>(from);
  to.insert(to.end(), first, first + count);
}

// Both clocks at the same moment.
struct moment {
  std::uint64_t ticks;
  std::int64_t monotonic_ns;

  // The kernel may interrupt the thread between the two readings. The readings that take the shortest time count.
  [[nodiscard]] static moment now(chunk_pool const& pool) noexcept {
    constexpr int tries = 4;
    moment best{};
    std::uint64_t shortest = UINT64_MAX;
    for (int i = 0; i < tries; ++i) {
      std::uint64_t const before = pool.ticks_now();
      std::int64_t const ns = os::monotonic_ns();
      std::uint64_t const took = pool.ticks_now() - before;
      if (took >= shortest) continue;
      shortest = took;
      best = {before + took / 2, ns};
    }
    return best;
  }
};

// The rate as a first estimate. The file's clock blocks tell it exactly.
std::uint64_t estimated_ticks_per_second(chunk_pool const& pool) {
  if (!pool.counts_ticks()) return 1'000'000'000;
  moment const from = moment::now(pool);
  moment to = from;
  while (to.monotonic_ns - from.monotonic_ns < calibration_ns) to = moment::now(pool);
  auto const ticks = static_cast<double>(to.ticks - from.ticks);
  return static_cast<std::uint64_t>(ticks * 1e9 / static_cast<double>(to.monotonic_ns - from.monotonic_ns));
}

// Which argument of a record is an address in the code. 0: none is.
std::size_t argument_with_site(kind what) noexcept {
  switch (what) {
    case kind::create:
    case kind::call: return 2;
    case kind::ready: return 3;
    default: return 0;
  }
}

file_header header_of(Sched const& s, std::uint32_t flags) {
  chunk_pool const& pool = s.trace.chunks;
  file_header its;
  its.ticks_per_second = estimated_ticks_per_second(pool);
  moment const start = moment::now(pool);
  its.start_ticks = start.ticks;
  its.start_monotonic_ns = start.monotonic_ns;
  its.start_realtime_ns =
      std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();  // for people only
  its.process = static_cast<std::uint32_t>(os::process_id());
#if defined(__x86_64__)
  its.architecture = 1;
#elif defined(__aarch64__)
  its.architecture = 2;
#endif
  its.procs = static_cast<std::uint32_t>(s.procs.size());
  its.flags = flags;
  return its;
}

}  // namespace

int output::open(Sched const& s, std::string const& path, std::uint32_t flags) {
  if (int const error = file_.open(path)) return error;
  sites_.clear();
  file_header const header = header_of(s, flags);
  ticks_per_second_ = header.ticks_per_second;
  file_.write_header(header);
  file_.write_block({.kind = block_kind::modules}, contents_of_modules());
  return 0;
}

void output::write_clock(chunk_pool const& pool) {
  file_.write_block({.kind = block_kind::clock}, bytes_of(moment::now(pool)));
}

std::uint64_t output::write_records(std::uint16_t stream, std::uint32_t block, std::uint64_t base_ticks,
                                    std::uint64_t lost, std::span<std::uint64_t const> words) {
  if (words.empty()) return base_ticks;
  block_header header{.kind = block_kind::events, .stream = stream};
  header.number = block;
  header.base_ticks = base_ticks;
  header.lost = lost;
  file_.write_block(header, std::as_bytes(words));
  return note_sites(base_ticks, words);
}

void output::write_complete_from(std::uint64_t ticks) {
  if (ticks != 0) file_.write_block({.kind = block_kind::complete_from}, bytes_of(ticks));
}

std::uint64_t output::note_sites(std::uint64_t base_ticks, std::span<std::uint64_t const> words) {
  for (std::size_t at = 0; at < words.size() && words[at] != 0; at += head::words_of(words[at])) {
    kind const what = head::kind_of(words[at]);
    if (what == kind::clock) base_ticks = words[at + 1];
    std::size_t const argument = argument_with_site(what);
    if (argument != 0 && argument < head::words_of(words[at]) && words[at + argument] != 0)
      sites_.insert(words[at + argument]);
  }
  return base_ticks;
}

void output::write_sites() {
  symbols known;
  std::vector<std::byte> contents;
  for (std::uint64_t const site : sites_) {
    code_place const& found = place_of_user(known.places_of(static_cast<std::uintptr_t>(site) - 1));
    std::string const where = source_of(found);
    std::uint32_t const lengths[] = {static_cast<std::uint32_t>(found.function.size()),
                                     static_cast<std::uint32_t>(where.size())};
    append(contents, &site, sizeof site);
    append(contents, lengths, sizeof lengths);
    append(contents, found.function.data(), found.function.size());
    append(contents, where.data(), where.size());
    contents.resize((contents.size() + 7) / 8 * 8);
  }
  if (!contents.empty()) file_.write_block({.kind = block_kind::sites}, contents);
}

int output::finish(chunk_pool const& pool) {
  write_clock(pool);
  write_sites();
  file_.write_block({.kind = block_kind::end}, bytes_of(pool.lost()));
  return file_.close();
}

std::size_t streams_of(Sched const& s) noexcept { return s.procs.all().size() + loose_streams; }

std::size_t words_written(chunk const& c, std::size_t from) noexcept {
  while (from < chunk::words_max) {
    std::uint64_t const first = published_word(c.words[from]);  // pairs with stream::publish
    if (first == 0) break;
    from += head::words_of(first);
  }
  return from;
}

}  // namespace thrum::rt::trace
