#include "debug/trace_writer.h"

#include "debug/helper_thread.h"
#include "os/clock.h"
#include "os/short_wait.h"

#include <cerrno>
#include <new>
#include <span>
#include <utility>

namespace thrum::rt::trace {
namespace {

constexpr std::size_t streams_max = std::size_t{1} << 16U;
constexpr std::size_t chunk_memory_bytes = std::size_t{32} << 20U;
// Each P fills some ten chunks in this time if it does nothing but switch.
constexpr std::int64_t round_ns = 5'000'000;
constexpr int rounds_per_clock = 20;

}  // namespace

writer::~writer() { static_cast<void>(stop()); }

writer::start_result writer::start(std::string const& path) {
  start_result result{start_outcome::already_tracing};
  turn_.start([&] {
    result = begin(path);
    return result.outcome == start_outcome::done;
  });
  return result;
}

writer::start_result writer::begin(std::string const& path) {
  auto const failed = [](int error, char const* call) { return start_result{start_outcome::failed, error, call}; };
  chunk_pool& chunks = sched_.trace.chunks;
  if (int const error = chunks.make(chunk_memory_bytes, streams_of(sched_)))
    return failed(error, "no memory for events of");
  try {
    path_ = path;
    progress_.assign(chunks.all().size(), {});
    next_chunk_.assign(streams_max, 0);
    next_block_.assign(streams_max, 0);
    if (int const error = output_.open(sched_, path, 0)) return failed(error, "open");
  } catch (std::bad_alloc const&) {
    return failed(ENOMEM, "no memory for events of");
  }
  trace_ = chunks.begin_trace(when_full::lose_new);
  number_.store(trace_, relaxed);  // a hint for stop_trace
  asked_to_end_.clear();
  file_is_closed_.store(false, relaxed);
  error_ = 0;
  if (int const error = make_helper_thread(sched_, thread_, thread_main, this)) {
    output_.give_up();
    return failed(error, "make a thread for");
  }
  return {.outcome = start_outcome::done, .number = trace_};
}

writer::stop_result writer::stop_trace(std::uint32_t number) {
  return number_.load(relaxed) == number ? stop() : stop_result{};
}

writer::stop_result writer::stop() {
  if (!turn_.try_stop()) return {};
  asked_to_end_.wake();
  join_helper_thread(sched_, thread_, tid_);
  stop_result result{true, error_, std::move(path_)};
  turn_.is_over();
  return result;
}

void writer::flush(std::int64_t patience_ns) const noexcept {
  if (!turn_.is_on()) return wait_for_end_of_file(patience_ns);
  std::uint32_t const begun = rounds_.load(relaxed);
  // two rounds, because the first one may have passed the chunk that the caller's last event is in
  auto const is_written = [&] { return rounds_.load(acquire) - begun >= 2 || file_is_closed_.load(acquire); };
  os::wait_until(is_written, os::monotonic_ns() + patience_ns);
}

void writer::wait_for_end_of_file(std::int64_t patience_ns) const noexcept {
  if (!turn_.is_stopping()) return;
  auto const is_closed = [&] { return file_is_closed_.load(acquire) || !turn_.is_stopping(); };
  os::wait_until(is_closed, os::monotonic_ns() + patience_ns);
}

void* writer::thread_main(void* self) {
  os::set_thread_name("thrum-trace");
  auto& me = *static_cast<writer*>(self);
  me.tid_ = os::current_tid();
  try {
    me.write_until_stopped();
  } catch (std::bad_alloc const&) {
    me.sched_.trace.turn_off();
    me.error_ = ENOMEM;  // stop() reports it
    me.asked_to_end_.sleep();
    me.output_.give_up();
  }
  me.file_is_closed_.store(true, release);  // pairs with flush and wait_for_end_of_file
  return nullptr;
}

void writer::write_until_stopped() {
  for (int round = 0;; ++round) {
    if (round % rounds_per_clock == 0) output_.write_clock(sched_.trace.chunks);
    bool const is_last = asked_to_end_.sleep_for(round_ns);
    write_what_is_there();
    output_.flush();
    rounds_.fetch_add(1U, release);                     // pairs with flush
    if (output_.error() != 0) sched_.trace.turn_off();  // stop() reports it
    if (is_last) break;
  }
  // The events of threads that were in the middle of writing one when the trace was turned off may be missing.
  write_what_is_there();
  error_ = output_.finish(sched_.trace.chunks);
}

// Streams fill their chunks one after the other, so the chunks of a stream are written in the order of their numbers. A
// chunk whose predecessor was not seen in this round has its turn in the next one.
void writer::write_what_is_there() {
  found_.clear();
  std::span<chunk> const all = sched_.trace.chunks.all();
  for (std::size_t i = 0; i < all.size(); ++i) {
    chunk& c = all[i];
    if (c.is(chunk_state::owned, trace_) || c.is(chunk_state::full, trace_)) {
      found_.push_back({c.stream, c.number, i});
    } else {
      sched_.trace.chunks.free_of_earlier_trace(c, trace_);  // its stream has left it late
    }
  }
  sort_by_stream(found_);
  for (place const& its : found_) {
    if (its.number == next_chunk_[its.stream]) write_chunk(its);
  }
}

void writer::write_chunk(place const& its) {
  chunk& c = sched_.trace.chunks.all()[its.index];
  progress& done = progress_[its.index];
  if (!done.begun || done.number != its.number) done = {its.number, true, 0, c.base_ticks};
  // Before its records: all records of a full chunk are seen.
  bool const is_full = c.state() == chunk_state::full;
  std::size_t const end = words_written(c, done.words);
  if (end != done.words) {
    std::span<std::uint64_t const> const words(c.words + done.words, end - done.words);
    done.base_ticks = output_.write_records(its.stream, next_block_[its.stream]++, done.base_ticks, c.lost, words);
    done.words = end;
  }
  if (!is_full) return;
  done.begun = false;
  ++next_chunk_[its.stream];
  sched_.trace.chunks.free(c);
}

}  // namespace thrum::rt::trace
