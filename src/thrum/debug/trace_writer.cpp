#include "debug/trace_writer.h"

#include "debug/symbols.h"
#include "debug/trace_modules.h"
#include "os/clock.h"
#include "os/short_wait.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <span>
#include <tuple>
#include <utility>

namespace thrum::rt::trace {
namespace {

constexpr std::size_t chunk_memory_bytes = std::size_t{32} << 20U;
// Each P fills some ten chunks in this time if it does nothing but switch.
constexpr std::int64_t round_ns = 5'000'000;
constexpr int rounds_per_clock = 20;
constexpr std::int64_t calibration_ns = 200'000;

template <class T>
std::span<std::byte const> bytes_of(T const& value) {
  return std::as_bytes(std::span(&value, 1));
}

void append(std::vector<std::byte>& to, void const* from, std::size_t count) {
  auto const* const first = static_cast<std::byte const*>(from);
  to.insert(to.end(), first, first + count);
}

// The rate as a first estimate. The file's clock blocks tell it exactly.
std::uint64_t estimated_ticks_per_second(chunk_pool const& pool) {
  if (!pool.counts_ticks()) return 1'000'000'000;
  std::int64_t const from_ns = os::monotonic_ns();
  std::uint64_t const from = pool.ticks_now();
  std::int64_t now_ns = from_ns;
  while (now_ns - from_ns < calibration_ns) now_ns = os::monotonic_ns();
  auto const ticks = static_cast<double>(pool.ticks_now() - from);
  return static_cast<std::uint64_t>(ticks * 1e9 / static_cast<double>(now_ns - from_ns));
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

}  // namespace

writer::~writer() { static_cast<void>(stop()); }

writer::start_result writer::start(std::string const& path) {
  auto expected = state::idle;
  // acquire pairs with the end of the last trace
  if (!state_.compare_exchange(expected, state::starting, acquire, relaxed)) return {start_outcome::already_tracing};
  auto const fail = [&](int error, char const* call) {
    state_.store(state::idle, release);  // pairs with the next start
    return start_result{start_outcome::failed, error, call};
  };
  trace_state& events = sched_.trace;
  if (int const error = events.chunks.make(chunk_memory_bytes)) return fail(error, "no memory for events");
  path_ = path;
  if (int const error = file_.open(path)) return fail(error, "open");
  std::size_t const streams = std::size_t{1} << 16U;
  progress_.assign(events.chunks.all().size(), {});
  next_chunk_.assign(streams, 0);
  next_block_.assign(streams, 0);
  sites_.clear();
  write_header();
  trace_ = events.chunks.begin_trace(when_full::lose_new);
  asked_to_end_.clear();
  tid_ = 0;
  {
    os::lock_guard const guard(sched_.lock);
    ++sched_.own_threads;  // it wakes no goroutine, so it does not hide a deadlock
  }
  if (int const error = os::create_thread(thread_, thread_main, this, os::takes_signals::only_its_own)) {
    {
      os::lock_guard const guard(sched_.lock);
      --sched_.own_threads;
    }
    static_cast<void>(file_.close());
    return fail(error, "make a thread");
  }
  events.turn_on();
  state_.store(state::tracing, release);  // pairs with stop
  return {start_outcome::done};
}

writer::stop_result writer::stop() {
  auto expected = state::tracing;
  if (!state_.compare_exchange(expected, state::stopping, acquire, relaxed)) return {false};
  sched_.trace.turn_off();
  asked_to_end_.wake();
  os::join_thread(thread_, tid_);
  {
    os::lock_guard const guard(sched_.lock);
    --sched_.own_threads;
  }
  stop_result const result{true, file_.close(), sched_.trace.chunks.lost()};
  state_.store(state::idle, release);  // pairs with the next start
  return result;
}

void writer::flush(std::int64_t patience_ns) const noexcept {
  if (state_.load(acquire) != state::tracing || os::process_id() != process_) return;
  std::uint32_t const begun = rounds_.load(relaxed);
  std::int64_t const until_ns = os::monotonic_ns() + patience_ns;
  // two rounds, because the first one may have passed the chunk that the caller's last event is in
  for (os::short_wait wait; rounds_.load(acquire) - begun < 2 && os::monotonic_ns() < until_ns;) wait.pause();
}

void* writer::thread_main(void* self) {
  os::set_thread_name("thrum-trace");
  auto& me = *static_cast<writer*>(self);
  me.tid_ = os::current_tid();
  me.write_until_stopped();
  return nullptr;
}

void writer::write_until_stopped() {
  auto const modules = contents_of_modules();
  file_.write_block({.kind = block_kind::modules}, modules);
  for (int round = 0;; ++round) {
    if (round % rounds_per_clock == 0) write_clock();
    bool const is_last = asked_to_end_.sleep_for(round_ns);
    write_what_is_there();
    file_.flush();
    rounds_.fetch_add(1U, release);                   // pairs with flush
    if (file_.error() != 0) sched_.trace.turn_off();  // stop() reports it
    if (is_last) break;
  }
  // The events of threads that were in the middle of writing one when the trace was turned off may be missing.
  write_what_is_there();
  write_clock();
  write_sites();
  write_end();
}

void writer::write_header() {
  chunk_pool const& pool = sched_.trace.chunks;
  file_header its;
  its.ticks_per_second = estimated_ticks_per_second(pool);
  its.start_ticks = pool.ticks_now();
  its.start_monotonic_ns = os::monotonic_ns();
  its.start_realtime_ns = os::realtime_ns();
  its.process = static_cast<std::uint32_t>(os::process_id());
#if defined(__x86_64__)
  its.architecture = 1;
#elif defined(__aarch64__)
  its.architecture = 2;
#endif
  its.procs = static_cast<std::uint32_t>(sched_.procs.size());
  file_.write_header(its);
}

void writer::write_clock() {
  struct {
    std::uint64_t ticks;
    std::int64_t monotonic_ns;
  } const now{sched_.trace.chunks.ticks_now(), os::monotonic_ns()};
  file_.write_block({.kind = block_kind::clock}, bytes_of(now));
}

// Streams fill their chunks one after the other, so the chunks of a stream are written in the order of their numbers. A
// chunk whose predecessor was not seen in this round has its turn in the next one.
void writer::write_what_is_there() {
  found_.clear();
  std::span<chunk> const all = sched_.trace.chunks.all();
  for (std::size_t i = 0; i < all.size(); ++i) {
    chunk_state const now = all[i].state.load(acquire);  // pairs with the stream: the fields are set
    if ((now == chunk_state::owned || now == chunk_state::full) && all[i].trace == trace_)
      found_.push_back({all[i].stream, all[i].number, i});
  }
  std::sort(found_.begin(), found_.end(),
            [](place const& a, place const& b) { return std::tie(a.stream, a.number) < std::tie(b.stream, b.number); });
  for (place const& its : found_) {
    if (its.number == next_chunk_[its.stream]) write_chunk(its);
  }
}

void writer::write_chunk(place const& its) {
  chunk& c = sched_.trace.chunks.all()[its.index];
  progress& done = progress_[its.index];
  if (!done.begun || done.number != its.number) done = {its.number, true, 0, c.base_ticks};
  // Before its records: all records of a full chunk are seen.
  bool const is_full = c.state.load(acquire) == chunk_state::full;  // pairs with fill
  std::size_t end = done.words;
  while (end < chunk::words_max) {
    std::uint64_t const first = __atomic_load_n(c.words + end, __ATOMIC_ACQUIRE);  // pairs with stream::publish
    if (first == 0) break;
    end += head::words_of(first);
  }
  if (end != done.words) {
    block_header header{.kind = block_kind::events, .stream = its.stream};
    header.number = next_block_[its.stream]++;
    header.base_ticks = done.base_ticks;
    header.lost = c.lost;
    std::span const words(c.words + done.words, end - done.words);
    file_.write_block(header, std::as_bytes(words));
    note_sites(words.data(), words.size(), done.base_ticks);
    done.words = end;
  }
  if (!is_full) return;
  done.begun = false;
  ++next_chunk_[its.stream];
  sched_.trace.chunks.free(c);
}

void writer::note_sites(std::uint64_t const* words, std::size_t count, std::uint64_t& base_ticks) {
  for (std::size_t at = 0; at < count; at += head::words_of(words[at])) {
    kind const what = head::kind_of(words[at]);
    if (what == kind::clock) base_ticks = words[at + 1];
    std::size_t const argument = argument_with_site(what);
    if (argument != 0 && argument < head::words_of(words[at]) && words[at + argument] != 0)
      sites_.insert(words[at + argument]);
  }
}

void writer::write_sites() {
  symbols known;
  std::vector<std::byte> contents;
  for (std::uint64_t const site : sites_) {
    code_place const& found = known.places_of(static_cast<std::uintptr_t>(site) - 1).back();
    std::string const where = found.line != 0 ? found.file + ":" + std::to_string(found.line) : found.file;
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

void writer::write_end() {
  std::uint64_t const events = sched_.trace.chunks.lost();
  file_.write_block({.kind = block_kind::end}, bytes_of(events));
}

}  // namespace thrum::rt::trace
