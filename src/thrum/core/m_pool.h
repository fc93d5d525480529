// The Ms of one run: their states, their numbers, and the lists that they stand in (S22, S28, S31).
//
// Every change of an M's state is an operation of this class, and only these operations keep the numbers. So the check
// for deadlocks can rely on the numbers, and checked builds count the Ms anew to prove it.
//
// The pool is passive. It takes no lock, wakes no thread and makes none. The caller does that when it has changed the
// state. Everything is under sched.lock, except where a comment says otherwise.
//
// The table of legal changes is in core/status.cpp, and a picture of it in docs/internals.md.
#pragma once

#include "core/m_list.h"
#include "core/slab.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace thrum::rt {

class m_pool {
 public:
  // --- all Ms ---

  // A new M, without a thread. nullptr: there is no memory.
  [[nodiscard]] M* make(Sched& s) noexcept;
  // The number of the next M. For an M that is not made here (a foreign one), and for M0 in a run that has no M0.
  [[nodiscard]] int take_number() noexcept { return made_++; }
  void add(M& m) noexcept;  // an M that was not made here
  [[nodiscard]] all_ms all() const noexcept { return all_ms(all_); }
  [[nodiscard]] int made() const noexcept { return made_; }

  // --- numbers ---

  [[nodiscard]] int count(m_status status) const noexcept { return counts_[index(status)]; }
  // Ms that have a thread or are about to get one, M0 included. Ms of foreign threads are not counted.
  [[nodiscard]] int total() const noexcept { return total_; }
  [[nodiscard]] int foreign() const noexcept { return foreign_; }  // Ms of foreign threads
  [[nodiscard]] int without_work() const noexcept {                // what the statistics call idle threads
    return count(m_status::idle) + (timekeeper_ != nullptr ? 1 : 0);
  }
  // Whether no M can make a goroutine run by itself: each is idle, sleeps with a parked goroutine, waits for the end of
  // the run or was dismissed. The timekeeper can, because a timer or an event will wake it.
  [[nodiscard]] bool none_can_run_by_itself() const noexcept;
  // Checked builds: ends the program if the numbers are not those of the Ms.
  void check() const noexcept;

  // --- Ms without a thread ---

  // Takes a record without a thread, or makes one. nullptr: there is no memory. The caller orders the thread (order) or
  // makes it.
  [[nodiscard]] M* start(Sched& s, m_status as) noexcept;
  // order: m's thread has to be made. take_orders: the Ms that were ordered.
  void order(M& m) noexcept { orders_.push(m); }
  [[nodiscard]] ordered_ms take_orders() noexcept { return orders_.take_all(); }
  // An M that is starting without a P, and that is to start with one from now on. nullptr: there is none.
  [[nodiscard]] M* take_starting_without_p() noexcept;
  void has_started(M& m) noexcept { change(m, m_status::awake); }
  // m is awake or idle. Its thread is to end. Its record is kept for another thread (keep).
  void let_go(M& m) noexcept;
  // note_end: m's thread is about to end. take_ended: the next such M, whose thread has to be joined.
  void note_end(M& m) noexcept { ended_.push(m); }
  [[nodiscard]] M* take_ended() noexcept { return ended_.pop(); }
  [[nodiscard]] bool any_ended() const noexcept { return !ended_.empty(); }
  // m's thread has ended or could not be made. The record is kept for another thread, which finds it as new.
  void keep(M& m) noexcept;

  // --- Ms that rest ---

  // The first idle M, and the idle M behind m; nullptr: there is none. Ms that are home to goroutines stand first. So a
  // thread that needs any M takes one of these, and the others remain for goroutines that make way (sched/make_way.h).
  // Within each kind the M that came last is first.
  [[nodiscard]] M* first_idle() const noexcept { return idle_.first(); }
  [[nodiscard]] static M* next_idle(M const& m) noexcept { return idle_ms::next(m); }
  // The first idle M of each kind. nullptr: there is none.
  [[nodiscard]] M* idle_with_residents() const noexcept {
    M* const first = idle_.first();
    return first != nullptr && first->residents.any() ? first : nullptr;
  }
  [[nodiscard]] M* idle_without_residents() const noexcept;
  // m is awake, or is the timekeeper and goes on sleeping.
  void rest(M& m, std::int64_t now_ns) noexcept;

  [[nodiscard]] M* timekeeper() const noexcept { return timekeeper_; }
  [[nodiscard]] bool timekeeper_is_roused() const noexcept {
    return timekeeper_ != nullptr && timekeeper_->status == m_status::roused;
  }
  void make_timekeeper(M& m) noexcept;
  void rouse_timekeeper() noexcept { change(*timekeeper_, m_status::roused); }

  // m rests, and is taken for work or wakes up by itself. Returns whether its note has to be woken. False: m was
  // roused, so its note was woken already.
  [[nodiscard]] bool take(M& m) noexcept;

  // --- Ms that sleep with a goroutine ---

  void sleep_in_place(M& m) noexcept { change(m, m_status::in_place); }
  // `as` is queued, paused or paused_in_libc.
  void queue(M& m, m_status as) noexcept { change(m, as); }
  // m's turn in the global queue has come. The caller is about to give it a P.
  void resume(M& m) noexcept { change(m, m_status::resuming); }
  // m gets a P. It is resuming or sleeps in place. If it is awake, it is on its way to sleep in place.
  void got_p(M& m) noexcept {
    if (m.status != m_status::awake) change(m, m_status::awake);
  }

  // --- giving an M a P ---

  // m gets p. The caller has taken m from its rest, has started it, or has called got_p. It wakes m's note, or notifies
  // the thread maker, when it has released the lock. m then takes p (acquire_p).
  static void promise(M& m, P& p) noexcept;
  // The same. m also gets the goroutine `brought`, which has left another M, and m stands in if `stands_in` is true
  // (sched/make_way.h).
  static void promise(M& m, P& p, G& brought, bool stands_in) noexcept;
  // bring: g goes on on m, with m's next P or the present one. take_brought: m's thread, or under the lock before the
  // thread has begun, takes that goroutine. nullptr: there is none.
  static void bring(M& m, G& g) noexcept { m.brought = &g; }
  [[nodiscard]] static G* take_brought(M& m) noexcept {
    G* const g = m.brought;
    m.brought = nullptr;
    return g;
  }
  // m is starting, and does so without a P and without a task from here on. Returns the P that it was promised.
  [[nodiscard]] P* take_back_promise(M& m) noexcept;
  // On m's thread: m has a P.
  static void has_acquired_p(M& m) noexcept { m.next_p = nullptr; }
  // m, which was a stand-in, is an M like others from here on. On m's thread, or under the lock before the thread has
  // begun or after it has ended.
  static void end_stand_in(M& m) noexcept {
    m.stands_in = false;
    m.suspend_by = m.usual_suspend_mode();
  }

  // --- numbers for any thread ---

  // The number of threads that sleep in the middle of user code. May be read by any thread.
  [[nodiscard]] std::int32_t paused() const noexcept { return paused_.load(relaxed); }

  // --- the end of a run ---

  void wait_for_end(M& m0) noexcept;
  // Takes an M that rests or sleeps with a goroutine, or that is awake and calls this itself.
  void dismiss(M& m) noexcept;

  // The calling thread stops in the middle of user code for good. May be called by any thread. If all other threads
  // have stopped, this is the last access to the run's memory. True: count_stopped was called before.
  [[nodiscard]] bool stop_for_good() noexcept { return paused_.fetch_add(1, seq_cst) >= stopped_are_counted; }
  // How many threads sleep in the middle of user code. From now on a thread that stops counts itself. Any thread.
  [[nodiscard]] std::int32_t count_stopped() noexcept { return paused_.fetch_add(stopped_are_counted, acq_rel); }
  // How many, without that change. seq_cst pairs with resume: a paused thread that goes on after this sees the end.
  [[nodiscard]] std::int32_t stopped() const noexcept { return paused_.load(seq_cst) % stopped_are_counted; }

  // --- foreign threads ---

  void admit(M& m) noexcept { change(m, m_status::awake); }
  void foreign_thread_ended(M& m) noexcept { change(m, m_status::threadless); }

 private:
  friend struct debugger_rows;

  using idle_ms = m_chain<&M::idle_links>;

  static constexpr std::int32_t stopped_are_counted = 1 << 30;

  static constexpr std::size_t index(m_status status) noexcept { return static_cast<std::size_t>(status); }
  // Whether an M in this state has a thread or is about to get one.
  static constexpr bool counts(m_status status) noexcept {
    return status != m_status::threadless && status != m_status::let_go;
  }
  void change(M& m, m_status to) noexcept;

  alignas(cache_line_bytes) atomic<std::int32_t> paused_{0};  // in user code: paused, or stopped for good
  slab<M> records_;
  M* all_ = nullptr;
  int made_ = 0;  // the next M's id

  alignas(cache_line_bytes) idle_ms idle_;
  M* timekeeper_ = nullptr;
  ordered_ms orders_;
  m_list<&M::ended_link> ended_;            // Ms whose threads have to be joined
  m_list<&M::threadless_link> threadless_;  // records for reuse
  int total_ = 0;
  int foreign_ = 0;
  std::array<std::int32_t, m_statuses> counts_{};  // without `threadless`
};

}  // namespace thrum::rt
