#include "debug/trace_recorder.h"

#include "os/clock.h"
#include "os/short_wait.h"

#include <algorithm>
#include <cstring>
#include <tuple>

namespace thrum::rt::trace {

recorder::~recorder() { static_cast<void>(stop()); }

recorder::result recorder::start(settings const& chosen) {
  auto expected = state::off;
  if (!state_.compare_exchange(expected, state::starting, acquire, relaxed)) return {outcome::in_use};
  auto const fail = [&](outcome how, int error, char const* call) {
    state_.store(state::off, release);  // pairs with the next start
    return result{how, error, call};
  };
  trace_state& events = sched_.trace;
  if (!events.try_claim()) return fail(outcome::in_use, 0, "");
  chosen_ = chosen;
  copy_.resize(chunk::words_max);
  int error = events.chunks.make(chosen.bytes);
  char const* call = "no memory for events";
  if (error == 0) {
    trace_ = events.chunks.begin_trace(when_full::lose_old);
    order_.store(order::none, relaxed);
    ordered_.clear();
    error = make_own_thread(sched_, thread_, thread_main, this);
    call = "make a thread";
  }
  if (error != 0) {
    events.give_back_claim();
    return fail(outcome::failed, error, call);
  }
  events.turn_on();
  state_.store(state::on, release);  // pairs with snapshot and stop
  return {outcome::done};
}

bool recorder::stop() {
  auto expected = state::on;
  if (!state_.compare_exchange(expected, state::stopping, acquire, relaxed)) return false;
  sched_.trace.turn_off();
  auto none = order::none;
  if (order_.compare_exchange(none, order::end, release, relaxed)) ordered_.wake();  // otherwise the program is dying
  join_own_thread(sched_, thread_, tid_);
  sched_.trace.give_back_claim();
  state_.store(state::off, release);  // pairs with the next start
  return true;
}

void recorder::close_streams(Sched& s) noexcept {
  for (P* const p : s.procs.all()) p->trace.close(s.trace.chunks);
  s.trace.close_loose_streams();
}

recorder::result recorder::snapshot(std::string const& path) {
  auto expected = state::on;
  if (!state_.compare_exchange(expected, state::writing, acquire, relaxed)) return {outcome::in_use};
  int const error = write(path, false);
  state_.store(state::on, release);
  return {error == 0 ? outcome::done : outcome::failed, error, "write"};
}

// In the order of their streams, and without those that ended before the oldest event that is wanted.
std::vector<chunk*> recorder::chunks_in_order(bool with_open_chunks) const {
  std::vector<chunk*> found;
  for (chunk& c : sched_.trace.chunks.all()) {
    chunk_state const now = c.state.load(acquire);  // pairs with the stream: the fields are set
    bool const is_wanted = now == chunk_state::full || (with_open_chunks && now == chunk_state::owned);
    if (is_wanted && c.trace == trace_) found.push_back(&c);
  }
  std::sort(found.begin(), found.end(), [](chunk const* a, chunk const* b) {
    return std::tie(a->stream, a->number) < std::tie(b->stream, b->number);
  });
  return found;
}

int recorder::write(std::string const& path, bool with_open_chunks) {
  output to;
  chunk_pool const& pool = sched_.trace.chunks;
  std::uint64_t const now = pool.ticks_now();
  if (int const error = to.open(sched_, path, written_by_recorder)) return error;
  to.write_clock(pool);
  auto const age_ticks = static_cast<double>(to.ticks_per_second()) * static_cast<double>(chosen_.age_ns) / 1e9;
  std::vector<chunk*> const found = chunks_in_order(with_open_chunks);
  for (std::size_t i = 0; i < found.size(); ++i) {
    bool const has_successor = i + 1 < found.size() && found[i + 1]->stream == found[i]->stream;
    if (has_successor && static_cast<double>(now - found[i + 1]->base_ticks) > age_ticks) continue;
    write_chunk(to, *found[i], found[i]->state.load(acquire) == chunk_state::owned);
  }
  return to.finish(pool);
}

// Copies the chunk first, so that the stream which needs its room waits only for that.
void recorder::write_chunk(output& to, chunk& c, bool is_open) {
  auto expected = chunk_state::full;
  if (!is_open && !c.state.compare_exchange(expected, chunk_state::full_and_being_read, acquire, relaxed)) return;
  std::uint16_t const stream = c.stream;
  std::uint32_t const number = c.number;
  std::uint64_t const base_ticks = c.base_ticks;
  std::uint64_t const lost = c.lost;
  std::size_t const end = words_written(c, 0);
  std::memcpy(copy_.data(), c.words, end * sizeof(std::uint64_t));
  if (!is_open) c.state.store(chunk_state::full, release);
  to.write_records(stream, number, base_ticks, lost, {copy_.data(), end});
}

// --- at death ---

void* recorder::thread_main(void* self) {
  os::set_thread_name("thrum-recorder");
  auto& me = *static_cast<recorder*>(self);
  me.tid_ = os::current_tid();
  me.wait_for_death();
  return nullptr;
}

// Other threads may go on with what they do, so the chunks that they own are read as they are.
void recorder::wait_for_death() {
  ordered_.sleep();
  if (order_.load(acquire) != order::write) return;
  static_cast<void>(write(chosen_.file_at_death, true));
  has_written_.store(true, release);  // pairs with write_at_death
}

void recorder::write_at_death(std::int64_t patience_ns) noexcept {
  if (os::process_id() != process_ || chosen_.file_at_death.empty()) return;
  state const now = state_.load(acquire);
  if (now != state::on && now != state::writing) return;
  auto none = order::none;
  if (order_.compare_exchange(none, order::write, release, relaxed)) ordered_.wake();
  std::int64_t const until_ns = os::monotonic_ns() + patience_ns;
  for (os::short_wait wait; !has_written_.load(acquire) && os::monotonic_ns() < until_ns;) wait.pause();
}

}  // namespace thrum::rt::trace
