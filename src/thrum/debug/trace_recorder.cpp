#include "debug/trace_recorder.h"

#include "debug/helper_thread.h"
#include "os/clock.h"
#include "os/short_wait.h"

#include <cerrno>
#include <new>

namespace thrum::rt::trace {

recorder::~recorder() { static_cast<void>(stop()); }

recorder::result recorder::start(settings const& chosen) {
  result made{outcome::in_use};
  turn_.start([&] {
    made = begin(chosen);
    return made.how == outcome::done;
  });
  return made;
}

recorder::result recorder::begin(settings const& chosen) {
  chunk_pool& chunks = sched_.trace.chunks;
  if (int const error = chunks.make(chosen.bytes, streams_of(sched_)))
    return {outcome::failed, error, "no memory for events"};
  try {
    chosen_ = chosen;
  } catch (std::bad_alloc const&) {
    return {outcome::failed, ENOMEM, "no memory"};
  }
  trace_ = chunks.begin_trace(when_full::lose_old);
  last_snapshot_ns_.store(0, relaxed);
  order_.store(order::none, relaxed);
  writes_at_death_.store(!chosen_.file_at_death.empty(), relaxed);
  has_written_.store(false, relaxed);
  ordered_.clear();
  if (int const error = make_helper_thread(sched_, thread_, thread_main, this))
    return {outcome::failed, error, "make a thread"};
  return {outcome::done};
}

bool recorder::stop() {
  if (!turn_.try_stop()) return false;
  auto none = order::none;
  if (order_.compare_exchange(none, order::end, release, relaxed)) ordered_.wake();  // otherwise the program is dying
  join_helper_thread(sched_, thread_, tid_);
  auto is_made = snapshot::is_made;
  // pairs with give_snapshot_up: what was done here is seen there, or the other way round
  if (!snapshot_.compare_exchange(is_made, snapshot::is_made_as_last, acq_rel, acquire)) turn_.is_over();
  return true;
}

// --- snapshots ---

bool recorder::is_due(std::int64_t apart_ns) noexcept {
  if (!turn_.is_on()) return false;
  std::int64_t const now_ns = os::monotonic_ns();
  std::int64_t last_ns = last_snapshot_ns_.load(relaxed);
  if (last_ns != 0 && now_ns - last_ns < apart_ns) return false;
  return last_snapshot_ns_.compare_exchange(last_ns, now_ns, relaxed, relaxed);  // relaxed: nothing is handed over
}

recorder::result recorder::begin_snapshot() {
  auto none = snapshot::none;
  if (!snapshot_.compare_exchange(none, snapshot::is_made, acquire, relaxed)) return {outcome::in_use};
  if (!turn_.is_on()) {
    give_snapshot_up();
    return {outcome::off};
  }
  last_snapshot_ns_.store(os::monotonic_ns(), relaxed);  // a hint for is_due
  try {
    noted_.make_room(sched_.trace.chunks);
    return {outcome::done};
  } catch (std::bad_alloc const&) {
    give_snapshot_up();
    return {outcome::failed, ENOMEM, "no memory"};
  }
}

// Events that are written to chunks behind those that are closed here are later than the moment of the snapshot.
void recorder::note_chunks() noexcept {
  for (P* const p : sched_.procs.all()) p->trace.close(sched_.trace.chunks);
  sched_.trace.close_loose_streams();
  noted_.note_full(sched_.trace.chunks, trace_);
}

recorder::result recorder::finish_snapshot(std::string const& path) {
  int const error = write(path, noted_);
  give_snapshot_up();
  return {error == 0 ? outcome::done : outcome::failed, error, "write"};
}

void recorder::give_snapshot_up() noexcept {
  auto is_made = snapshot::is_made;
  if (snapshot_.compare_exchange(is_made, snapshot::none, acq_rel, acquire)) return;  // pairs with stop
  snapshot_.store(snapshot::none, relaxed);
  turn_.is_over();
}

// Returns 0 or the errno.
int recorder::write(std::string const& path, chunk_notes& noted) const noexcept {
  try {
    chunk_pool const& pool = sched_.trace.chunks;
    auto const now = static_cast<double>(pool.ticks_now());
    output to;
    if (int const error = to.open(sched_, path, written_by_recorder)) return error;
    to.write_clock(pool);
    double const age = static_cast<double>(to.ticks_per_second()) * static_cast<double>(chosen_.age_ns) / 1e9;
    noted.write(to, now - age);
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

// The world goes on, but nothing is recorded any more, so the chunks that streams own are read as they are. Another
// thread may make a snapshot meanwhile.
void recorder::wait_for_death() {
  ordered_.sleep();
  if (order_.load(acquire) != order::write) return;
  try {
    chunk_notes noted;
    noted.make_room(sched_.trace.chunks);
    noted.note_all(sched_.trace.chunks, trace_);
    static_cast<void>(write(chosen_.file_at_death, noted));
  } catch (std::bad_alloc const&) {  // the program ends without the file
  }
  has_written_.store(true, release);  // pairs with write_at_death
}

void recorder::write_at_death(std::int64_t patience_ns) noexcept {
  if (!turn_.is_on() || !writes_at_death_.load(relaxed)) return;
  sched_.trace.turn_off();  // otherwise other goroutines overwrite chunks before they are copied
  auto none = order::none;
  if (order_.compare_exchange(none, order::write, release, relaxed)) ordered_.wake();
  os::wait_until([&] { return has_written_.load(acquire); }, os::monotonic_ns() + patience_ns);
}

}  // namespace thrum::rt::trace
