#include "sys/foreign.h"

#include "core/current.h"
#include "core/forked.h"
#include "core/left_behind.h"
#include "os/barrier.h"
#include "os/clock.h"
#include "os/futex.h"
#include "os/short_wait.h"
#include "os/thread.h"
#include "sched/end_all_ms.h"
#include "sched/own_thread.h"
#include "sys/blocking.h"

#include <new>
#include <utility>

namespace thrum::rt {

namespace {

// Threads may end after the destructors of statics, so the registry's memory is never unmapped.
struct seat_registry {
  os::lock lock{lock_rank::foreign};
  Sched* admitting = nullptr;
  slab<foreign_seat> all;
  foreign_seat* free_seats = nullptr;

  ~seat_registry() { all.abandon(); }
};
constinit seat_registry registry;

constinit thread_local foreign_seat* own_seat = nullptr;  // kept while the thread lives

// The G looks like that of a goroutine that has gone into a system call.
void seat_goroutine(foreign_seat& seat, std::uint64_t id) noexcept {
  G& g = seat.g;
  g.id = id;
  g.status.store(g_status::syscall, relaxed);  // published with the M
  g.detour.is_locked = true;
  g.lock_depth = 0;  // the thread that had this seat before may have ended while it was locked
  g.only_m = &seat.m;
  g.blocking_depth = 1;
}

void seat_m(foreign_seat& seat) noexcept {
  M& m = seat.m;
  m.tid = os::current_tid();
  m.globals = thread_globals::of_this_thread();
  m.suspend_by = suspend_mode::in_place;
  m.current = &seat.g;
  m.attention.store(m_attend::away, relaxed);
}

// Takes a seat of this run that its thread has left. If there is none, takes another seat and makes it anew.
foreign_seat* take_seat(Sched& s) noexcept {
  if (foreign_seat* const free_seat = s.foreign.take_free()) return free_seat;
  foreign_seat* seat = std::exchange(own_seat, nullptr);
  if (seat == nullptr && registry.free_seats != nullptr) {
    seat = std::exchange(registry.free_seats, registry.free_seats->spare);
  }
  int id = 0;
  {
    os::lock_guard const guard(s.lock);
    id = s.ms.take_number();
  }
  if (seat == nullptr) {
    seat = registry.all.make(s, id);
    if (seat == nullptr) return nullptr;
  } else {
    seat->~foreign_seat();
    ::new (seat) foreign_seat(s, id);
  }
  s.foreign.add(*seat);
  os::lock_guard const guard(s.lock);
  s.ms.add(seat->m);
  return seat;
}

enum class seat_release : bool { its_thread_ends, its_visit_ends };

void release_seat(seat_release why) noexcept {
  foreign_seat* const seat = std::exchange(own_seat, nullptr);
  if (seat == nullptr || forked_inside_run()) return;  // the parent may have held the lock
  os::lock_guard const guard(registry.lock);
  seat->threads_m = nullptr;
  Sched* const s = seat->run;
  if (s == nullptr) {
    seat->spare = std::exchange(registry.free_seats, seat);
    return;
  }
  set_current_m(nullptr);
  seat->g.status.store(g_status::dead, relaxed);
  s->foreign.release(*seat);
  {
    os::lock_guard const of_sched(s->lock);
    if (why == seat_release::its_thread_ends) s->foreign.ended.add(seat->m.tid);
    s->ms.foreign_thread_ended(seat->m);
  }
  s->thread_maker.notify();
}

void release_seat_at_thread_end(void*) noexcept { release_seat(seat_release::its_thread_ends); }

// A thread whose mark is clear may be on its way in or out. Only a thread that is away is outside. acquire pairs with
// go_outside.
bool is_inside(foreign_seat const& seat) noexcept {
  return seat.m.in_runtime.load(acquire) || (seat.m.attention.load(acquire) & m_attend::away) == 0;
}

// acquire pairs with let_run_go. keeps_run is read last, because it is set before the thread goes away.
bool needs_run(foreign_seat const& seat) noexcept { return is_inside(seat) || seat.m.keeps_run.load(acquire) != 0; }

// Whether the thread is soon done with the run's memory, as opposed to a thread that waits or sleeps for good.
bool is_about_to_leave(foreign_seat const& seat) noexcept {
  if (seat.m.keeps_run.load(acquire) != 0) return true;  // pairs with let_run_go
  auto const status = seat.g.status.load(relaxed);
  // In `syscall` it is on its way in or out.
  return is_inside(seat) &&
         (status == g_status::running || status == g_status::runnable || status == g_status::syscall);
}

// Whether the thread is at work inside the runtime, as opposed to a thread that waits there or sleeps for good.
bool runs_inside(foreign_seat const& seat) noexcept {
  auto const status = seat.g.status.load(relaxed);
  bool const is_at_work = status == g_status::running || status == g_status::syscall;  // or on its way in or out
  return is_at_work && is_active_inside(seat.m);
}

// Whether the thread waits for its turn, and an M has just given it a P. It will run as soon as it gets a CPU. The
// thread first takes the P and then forgets next_p, so after the barrier one of the two is seen. Ms that are about to
// give it a P do not exist when this is called.
bool was_given_a_p(foreign_seat const& seat) noexcept {
  if (seat.g.status.load(relaxed) != g_status::runnable) return false;
  {
    os::lock_guard const guard(seat.m.sched.lock);
    if (hint_of(seat.m.next_p) != nullptr) return true;
  }
  if (os::has_barrier()) os::barrier_in_all_threads();
  return hint_of(seat.m.p) != nullptr;
}

// A thread that was readied has got what it waited for, and needs only its turn. A thread that runs inside the runtime
// is soon out of it. Both take a few of the kernel's time slices, which are long on a busy machine.
constexpr std::int64_t until_its_turn_ns = 10'000'000'000;
std::int64_t more_patience_ns(foreign_seat const& seat) noexcept {
  bool const is_readied = seat.g.status.load(relaxed) == g_status::runnable;
  return is_readied || runs_inside(seat) ? until_its_turn_ns : 0;
}

}  // namespace

void admit_threads(Sched& s) noexcept {
  os::lock_guard const guard(registry.lock);
  registry.admitting = &s;
}

namespace {

// The calling thread has no M.
M* give_seat(M* visitor) noexcept {
  if (forked_inside_run()) return nullptr;
  os::lock_guard const guard(registry.lock);
  if (registry.admitting == nullptr) return nullptr;
  Sched& s = *registry.admitting;
  foreign_seat* const seat = take_seat(s);
  if (seat == nullptr) return nullptr;
  if (own_seat != nullptr) {  // a seat of an earlier run
    own_seat->threads_m = nullptr;
    own_seat->spare = std::exchange(registry.free_seats, own_seat);
  }
  own_seat = seat;
  seat->visitor = visitor;
  set_current_m(&seat->m);
  seat->threads_m = address_of_current_m();
  std::uint64_t const id = s.records.take_ids(1);
  os::lock_guard const of_sched(s.lock);  // the M may already be in the list
  seat_goroutine(*seat, id);
  seat_m(*seat);
  s.ms.admit(seat->m);
  return &seat->m;
}

// `own` is the M of a goroutine that its run has left behind. While the thread has no M or that of a seat, a signal of
// the earlier run does not stop it (sys/preempt.cpp), so it can hold locks of this run.
M* begin_visit(M& own) noexcept {
  if (own.current == nullptr) return nullptr;  // the caller is on the scheduler's own stack
  set_current_m(nullptr);
  M* const m = give_seat(&own);
  if (m == nullptr) set_current_m(&own);
  return m;
}

// Waits until the run `epoch` is over, which the end of the run tells (boot/run_services.cpp). Returns before that
// while the wait is short, and after 10 ms, because the run may just begin, or there was no memory for a seat.
void wait_for_end_of(std::uint32_t epoch, os::short_wait& wait) noexcept {
  constexpr std::int64_t nap_ns = 10'000'000;
  if (!wait.is_long()) return wait.pause();
  static_cast<void>(os::futex_wait(Sched::live_epoch, epoch, nap_ns));
}

}  // namespace

M* seat_thread() noexcept {
  if (current_m() != nullptr) return nullptr;  // the caller is on the scheduler's own stack
  return os::call_at_thread_end(release_seat_at_thread_end) ? give_seat(nullptr) : nullptr;
}

void sleep_outside(M& m) noexcept {
  Sched::threads_asleep_for_good.fetch_add(1, relaxed);  // no other code counts this thread
  leave_goroutine_behind(m);
}

bool comes_in_from_outside(M& m) noexcept {
  bool const is_over = m.run_is_over.load(acquire);  // pairs with dismiss_threads
  if (!is_over && comes_back_on_this_thread(m)) {
    m.attention.store(m_attend::visits, relaxed);
    return true;
  }
  // While the mark is set, the run's memory stays. Scheduling was stopped after exiting_m was written.
  bool const program_exits = !is_over && m.sched.end.exiting_m() != nullptr;
  m.in_runtime.store(false, release);  // the P that it left behind belongs to other threads
  if (program_exits) sleep_outside(m);
  return false;
}

void go_outside(M& m) noexcept {
  // The thread may not call the runtime for a long time, so the goroutines that it has made runnable go to other Ms at
  // once.
  leave_p(m, m.p->queue.is_empty_to_owner() ? blocking_hint::may_be_short : blocking_hint::long_call);
  m.attention.store(m_attend::away, release);  // pairs with is_inside, as does the next store:
  m.in_runtime.store(false, release);          // the thread is done with the run's memory
  end_visit();
}

M* enter_from_outside(std::uint32_t epoch) noexcept {
  if (epoch == 0) return nullptr;
  os::short_wait wait;
  for (; Sched::live_epoch.load(relaxed) == epoch; wait_for_end_of(epoch, wait)) {
    M* m = current_m();
    if (m == nullptr) {
      m = seat_thread();
    } else if (!m->is_foreign) {
      m = begin_visit(*m);
    }
    if (m == nullptr) continue;
    if (!enter_if_alive(*m)) {
      end_visit();
      continue;
    }
    if (m->sched.epoch == epoch) return m;
    leave_runtime(*m);
    break;
  }
  return nullptr;
}

as_outsider::as_outsider() noexcept : own_(is_left_behind() ? current_m() : nullptr) {
  if (own_ != nullptr) set_current_m(nullptr);
}

as_outsider::~as_outsider() {
  if (own_ == nullptr) return;
  release_seat(seat_release::its_visit_ends);
  if (!forked_inside_run()) set_current_m(own_);  // in a child, the thread does not belong to the scheduler
}

void end_visit() noexcept {
  if (own_seat == nullptr || own_seat->visitor == nullptr) return;
  M* const own = std::exchange(own_seat->visitor, nullptr);
  release_seat(seat_release::its_visit_ends);
  set_current_m(own);
}

int threads_inside(Sched& s) noexcept {
  os::lock_guard const guard(registry.lock);
  int inside = 0;
  for (foreign_seat* seat = s.foreign.first(); seat != nullptr; seat = seat->next) inside += is_inside(*seat) ? 1 : 0;
  return inside;
}

int threads_left_waiting(Sched& s) noexcept {
  os::lock_guard const guard(registry.lock);
  int waiting = 0;
  for (foreign_seat* seat = s.foreign.first(); seat != nullptr; seat = seat->next) {
    auto const status = seat->g.status.load(relaxed);
    bool const waits = status == g_status::waiting || status == g_status::runnable;
    waiting += waits && is_inside(*seat) ? 1 : 0;
  }
  return waiting;
}

void wait_for_threads_inside(Sched& s) noexcept {
  std::int64_t const until_ns = os::monotonic_ns() + until_its_turn_ns;
  for (foreign_seat* seat = s.foreign.first(); seat != nullptr; seat = seat->next) {
    os::wait_until([&] { return !runs_inside(*seat) && !was_given_a_p(*seat); }, until_ns);
  }
}

int dismiss_threads(Sched& s, std::int64_t patience_ns) noexcept {
  {
    os::lock_guard const guard(registry.lock);
    registry.admitting = nullptr;
    for (foreign_seat* seat = s.foreign.first(); seat != nullptr; seat = seat->next) {
      seat->run = nullptr;
      if (seat->threads_m != nullptr) {
        *seat->threads_m = nullptr;
        seat->m.run_is_over.store(true, release);  // a thread that misses it is seen after the barrier below
      } else {
        seat->spare = std::exchange(registry.free_seats, seat);
      }
    }
    s.foreign.forget_free();
  }
  if (s.foreign.first() == nullptr) return 0;
  bool const all_are_seen = os::has_barrier();  // without a barrier, a thread may be about to enter
  if (all_are_seen) os::barrier_in_all_threads();
  int inside = 0;
  std::int64_t const until_ns = os::monotonic_ns() + patience_ns;
  for (foreign_seat* seat = s.foreign.first(); seat != nullptr; seat = seat->next) {
    os::short_wait wait;
    while (is_about_to_leave(*seat) &&
           (os::monotonic_ns() < until_ns || os::monotonic_ns() < until_ns + more_patience_ns(*seat))) {
      wait.pause();
    }
    if (!all_are_seen || needs_run(*seat)) ++inside;
  }
  return inside;
}

}  // namespace thrum::rt
