#include "debug/trace_recorder.h"

#include "debug/helper_thread.h"
#include "os/clock.h"
#include "os/short_wait.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <span>
#include <tuple>
#include <vector>

namespace thrum::rt::trace {

recorder::~recorder() { static_cast<void>(stop()); }

recorder::result recorder::start(settings const& chosen) {
  auto expected = state::off;
  if (!state_.compare_exchange(expected, state::starting, acquire, relaxed)) return {outcome::in_use};
  result const made = sched_.trace.try_claim() ? begin(chosen) : result{outcome::in_use};
  // pairs with snapshot and stop, or with the next start
  state_.store(made.how == outcome::done ? state::on : state::off, release);
  return made;
}

recorder::result recorder::begin(settings const& chosen) {
  trace_state& events = sched_.trace;
  auto const failed = [&](int error, char const* call) {
    events.give_back_claim();
    return result{outcome::failed, error, call};
  };
  if (int const error = events.chunks.make(chosen.bytes)) return failed(error, "no memory for events");
  try {
    chosen_ = chosen;
  } catch (std::bad_alloc const&) {
    return failed(ENOMEM, "no memory");
  }
  trace_ = events.chunks.begin_trace(when_full::lose_old);
  last_snapshot_ns_.store(0, relaxed);
  order_.store(order::none, relaxed);
  has_written_.store(false, relaxed);
  ordered_.clear();
  if (int const error = make_helper_thread(sched_, thread_, thread_main, this)) return failed(error, "make a thread");
  events.turn_on();
  return {outcome::done};
}

bool recorder::stop() {
  auto expected = state::on;
  if (os::process_id() != process_) return false;  // a child of fork has no such thread
  if (!state_.compare_exchange(expected, state::stopping, acquire, relaxed)) return false;
  sched_.trace.turn_off();
  auto none = order::none;
  if (order_.compare_exchange(none, order::end, release, relaxed)) ordered_.wake();  // otherwise the program is dying
  join_helper_thread(sched_, thread_, tid_);
  sched_.trace.give_back_claim();
  state_.store(state::off, release);  // pairs with the next start
  return true;
}

// --- snapshots ---

bool recorder::is_due(std::int64_t apart_ns) noexcept {
  if (state_.load(relaxed) != state::on) return false;  // relaxed: begin_snapshot decides
  std::int64_t const now_ns = os::monotonic_ns();
  std::int64_t last_ns = last_snapshot_ns_.load(relaxed);
  if (last_ns != 0 && now_ns - last_ns < apart_ns) return false;
  return last_snapshot_ns_.compare_exchange(last_ns, now_ns, relaxed, relaxed);  // relaxed: nothing is handed over
}

recorder::result recorder::begin_snapshot() {
  auto expected = state::on;
  if (!state_.compare_exchange(expected, state::writing, acquire, relaxed)) return {outcome::in_use};
  last_snapshot_ns_.store(os::monotonic_ns(), relaxed);  // a hint for is_due
  if (make_room_for_notes()) return {outcome::done};
  state_.store(state::on, release);
  return {outcome::failed, ENOMEM, "no memory"};
}

bool recorder::make_room_for_notes() noexcept {
  try {
    noted_.clear();
    noted_.reserve(sched_.trace.chunks.all().size());
    return true;
  } catch (std::bad_alloc const&) {
    return false;
  }
}

void recorder::note_chunks() noexcept {
  for (P* const p : sched_.procs.all()) p->trace.close(sched_.trace.chunks);
  sched_.trace.close_loose_streams();
  note_chunks_as_they_are();
}

void recorder::note_chunks_as_they_are() noexcept {
  for (chunk& c : sched_.trace.chunks.all()) {
    bool const is_open = c.is(chunk_state::owned, trace_);
    if (is_open || c.is(chunk_state::full, trace_)) noted_.push_back(noted_chunk::of(c, is_open));
  }
}

recorder::result recorder::finish_snapshot(std::string const& path) {
  int const error = write(path);
  state_.store(state::on, release);
  return {error == 0 ? outcome::done : outcome::failed, error, "write"};
}

recorder::noted_chunk recorder::noted_chunk::of(chunk& c, bool is_open) noexcept {
  return {&c, c.filled_as.load(relaxed), c.base_ticks, c.lost, c.number, c.stream, is_open};
}

// Copies the records, unless a stream has used the chunk again since it was noted. Returns how many words there are.
std::size_t recorder::noted_chunk::copy_to(std::span<std::uint64_t> to, std::uint32_t of_trace) const noexcept {
  if (!is_open && !chunk_pool::try_to_read(*its)) return 0;
  auto const is_the_same = [&] {
    return its->trace.load(acquire) == of_trace && its->stream == stream && its->number == number &&
           its->base_ticks == base_ticks;
  };
  std::size_t end = is_the_same() ? words_written(*its, 0) : 0;
  std::memcpy(to.data(), its->words, end * sizeof(std::uint64_t));
  if (is_open && !is_the_same()) end = 0;
  if (!is_open) chunk_pool::keep(*its);
  return end;
}

// Leaves out the chunks that ended before the oldest event that is wanted: those whose successor began before it.
void recorder::forget_what_is_too_old(double oldest) {
  std::sort(noted_.begin(), noted_.end(), [](noted_chunk const& a, noted_chunk const& b) {
    return std::tie(a.stream, a.number) < std::tie(b.stream, b.number);
  });
  auto keep = noted_.begin();
  for (auto at = noted_.begin(); at != noted_.end(); ++at) {
    auto const next = at + 1;
    bool const is_too_old =
        next != noted_.end() && next->stream == at->stream && static_cast<double>(next->base_ticks) < oldest;
    if (!is_too_old) *keep++ = *at;
  }
  noted_.erase(keep, noted_.end());
}

// Returns 0 or the errno. Streams that need room take the oldest chunks, so these are copied first.
int recorder::write(std::string const& path) noexcept {
  try {
    chunk_pool const& pool = sched_.trace.chunks;
    auto const now = static_cast<double>(pool.ticks_now());
    output to;
    if (int const error = to.open(sched_, path, written_by_recorder)) return error;
    to.write_clock(pool);
    double const age = static_cast<double>(to.ticks_per_second()) * static_cast<double>(chosen_.age_ns) / 1e9;
    forget_what_is_too_old(now - age);
    std::sort(noted_.begin(), noted_.end(), [](noted_chunk const& a, noted_chunk const& b) {
      return std::tie(a.is_open, a.filled_as) < std::tie(b.is_open, b.filled_as);
    });
    std::vector<std::uint64_t> copy(chunk::words_max);
    for (noted_chunk const& one : noted_) {
      std::size_t const words = one.copy_to(copy, trace_);
      to.write_records(one.stream, one.number, one.base_ticks, one.lost, std::span(copy).first(words));
    }
    return to.finish(pool);
  } catch (std::bad_alloc const&) {
    return ENOMEM;
  }
}

// --- at death ---

void* recorder::thread_main(void* self) {
  os::set_thread_name("thrum-recorder");
  auto& me = *static_cast<recorder*>(self);
  me.tid_ = os::current_tid();
  me.wait_for_death();
  return nullptr;
}

// The world may go on, so the chunks that streams own are read as they are.
void recorder::wait_for_death() {
  ordered_.sleep();
  if (order_.load(acquire) != order::write) return;
  if (!make_room_for_notes()) return;
  note_chunks_as_they_are();
  static_cast<void>(write(chosen_.file_at_death));
  has_written_.store(true, release);  // pairs with write_at_death
}

void recorder::write_at_death(std::int64_t patience_ns) noexcept {
  state const now = state_.load(acquire);  // pairs with start: the settings are there
  if (now != state::on) return;            // a snapshot that is being written uses noted_
  if (os::process_id() != process_ || chosen_.file_at_death.empty()) return;
  auto none = order::none;
  if (order_.compare_exchange(none, order::write, release, relaxed)) ordered_.wake();
  std::int64_t const until_ns = os::monotonic_ns() + patience_ns;
  for (os::short_wait wait; !has_written_.load(acquire) && os::monotonic_ns() < until_ns;) wait.pause();
}

}  // namespace thrum::rt::trace
