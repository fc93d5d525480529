// `go f()`: a record, an entry in a queue, and perhaps a wake-up (S06).
#include "core/current.h"
#include "core/forked.h"
#include "core/left_behind.h"
#include "sched/records.h"
#include "sched/runnable.h"
#include <thrum/detail/task.h>

#include <new>
#include <stdexcept>
#include <string>
#include <utility>

namespace thrum::detail {
namespace {

using namespace rt;

[[noreturn, gnu::noinline]] void throw_no_runtime() {
  if (forked_inside_run()) throw std::logic_error(std::string("thrum::go: ") + why_no_runtime());
  throw std::logic_error("thrum::go: no runtime is alive: call go inside thrum::run or while a thrum::runtime exists");
}

}  // namespace

// Not inlined, so that its return address is where the user wrote `go`.
[[gnu::noinline]] task& new_task(joinable kind, std::size_t stack_bytes) {
  M* const m = callers_m();
  if (m == nullptr || !enter_if_alive(*m)) throw_no_runtime();
  P& p = *m->p;
  G* const g = take_dead_g(p);
  if (g == nullptr) {
    leave_runtime(*m);
    throw std::bad_alloc();
  }
  g->id = next_goroutine_id(p);
  g->is_joinable = kind == joinable::yes;
  // The previous goroutine of this record may have ended inside a blocking scope.
  g->blocking_depth = 0;
  g->is_call_timed = false;
  if (g->is_joinable) {
    g->references.store(2, relaxed);  // relaxed: its run and its handle; published with the entry
    g->join.store(join_pending, relaxed);
  }
  g->task.created_at = __builtin_return_address(0);
  g->task.created_by = m->current->id;
  g->task.stack_bytes = stack_bytes;
  if (m->is_foreign) [[unlikely]] {
    keep_run(*m);  // until the callable is in the record
    g->wake_parameter = m;
  }
  leave_runtime(*m);
  return g->task;
}

namespace {

// No other thread knows the record. Called inside the runtime; leaves it.
void give_back_and_leave(M& m, task& unused) noexcept {
  G::of(unused).references.store(0, relaxed);
  put_dead_g(*m.p, G::of(unused));
  leave_runtime(m);
}

// Enters the runtime and returns the calling thread's M, if `own` belongs to a run that is alive. On a foreign thread
// that run may have ended meanwhile. If the thread has no M, the record is not read, because it may be gone.
[[gnu::always_inline]] inline M* enter_for(task& own) noexcept {
  M* const m = current_m();
  return m == nullptr || G::of(own).is_orphan() || !enter_if_alive(*m) ? nullptr : m;
}

// The callable is in the record, or will never be. If the run has ended meanwhile, the thread has no M. But the thread
// that ended the run waits for this call, for a while, and leaves the record alone until then.
void let_run_go_without_m(task& own) noexcept {
  if (current_m() != nullptr) return;  // the M of another run: the record of the old run has been left alone for good
  if (auto* const kept_by = static_cast<M*>(std::exchange(G::of(own).wake_parameter, nullptr))) let_run_go(*kept_by);
}

}  // namespace

void discard_task(task& unused) noexcept {
  M* const m = enter_for(unused);
  if (m == nullptr) return let_run_go_without_m(unused);
  let_run_go(*m);
  give_back_and_leave(*m, unused);
}

void recycle_task(task& unused, std::uint32_t epoch) noexcept {
  if (is_left_behind()) return;  // the record stays with its run, until that ends
  M* const m = callers_m();
  if (m == nullptr || !enter_if_alive(*m)) return;
  if (m->sched.epoch == epoch) return give_back_and_leave(*m, unused);
  leave_runtime(*m);
}

namespace {

void attend_to_start(M& m, G& g) noexcept {
  let_run_go(m);
  if ((m.at_start & m_start::timed) == 0) return;
  m.at_start &= static_cast<std::uint8_t>(~m_start::timed);
  if (!g.is_joinable) g.begin_ready_time();  // a goroutine that is joined in place has no turn
}

}  // namespace

void start_task(task& filled) noexcept {
  M* const m = enter_for(filled);
  if (m == nullptr) [[unlikely]]
    return let_run_go_without_m(filled);
  G& g = G::of(filled);
  if (m->at_start != 0) [[unlikely]]
    attend_to_start(*m, g);
  make_unstarted_runnable(*m, g);
  leave_runtime(*m);
}

}  // namespace thrum::detail
