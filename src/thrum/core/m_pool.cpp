#include "core/m_pool.h"

#include "base/check.h"
#include "core/trace_state.h"

#include <utility>

namespace thrum::rt {
void m_pool::change(M& m, m_status to) noexcept {
  m_status const from = m.status;
  bool const was_paused = m.is_paused();
  if (!is_legal(from, to)) {
    illegal_transition("M", static_cast<std::uint64_t>(m.id), name_of(from), name_of(from), name_of(to));
  }
  m.status = to;
  if (from != m_status::threadless) --counts_[index(from)];
  if (to != m_status::threadless) ++counts_[index(to)];
  (m.is_foreign ? foreign_ : total_) += (counts(to) ? 1 : 0) - (counts(from) ? 1 : 0);
  // seq_cst: either the thread that ends the run sees that m is not paused any more, or m sees the end of the run
  // (stop_if_run_has_ended)
  if (m.is_paused()) paused_.fetch_add(1, relaxed);
  if (was_paused) paused_.fetch_sub(1, seq_cst);
  trace::note::m_changed(m);
}

// --- all Ms ---

M* m_pool::make(Sched& s) noexcept {
  M* const m = records_.make(s, made_);
  if (m == nullptr) return nullptr;
  ++made_;
  add(*m);
  return m;
}

void m_pool::add(M& m) noexcept { m.all_link = std::exchange(all_, &m); }

// --- numbers ---

bool m_pool::none_can_run_by_itself() const noexcept {
  if constexpr (debug_checks) check();
  return count(m_status::idle) + count(m_status::in_place) + count(m_status::waits_for_end) +
             count(m_status::dismissed) ==
         total_ + foreign_;
}

void m_pool::check() const noexcept {
  std::array<std::int32_t, m_statuses> found{};
  int total = 0;
  int foreign = 0;
  for (M const* m = idle_without_residents(); m != nullptr; m = next_idle(*m)) {
    THRUM_CHECK(!m->residents.any());  // Ms with residents stand first
  }
  for (M const& m : all()) {
    if (m.status != m_status::threadless) ++found[index(m.status)];
    (m.is_foreign ? foreign : total) += counts(m.status) ? 1 : 0;
  }
  if (found == counts_ && total == total_ && foreign == foreign_) return;
  fatal("internal error: inconsistent counts of threads: %d of %d, and of %d foreign ones", total_, total, foreign);
}

// --- Ms without a thread ---

M* m_pool::start(Sched& s, m_status as) noexcept {
  M* m = threadless_.pop();
  if (m == nullptr) m = make(s);
  if (m != nullptr) change(*m, as);
  return m;
}

M* m_pool::take_starting_without_p() noexcept {
  if (count(m_status::starting_without_p) == 0) return nullptr;
  M* const m = all().find([](M const& each) { return each.status == m_status::starting_without_p; });
  change(*m, m_status::starting);
  return m;
}

void m_pool::let_go(M& m) noexcept {
  if (m.status == m_status::idle) idle_.remove(m);
  change(m, m_status::let_go);
}

void m_pool::keep(M& m) noexcept {
  change(m, m_status::threadless);
  m.ends_with_goroutine = false;
  end_stand_in(m);
  threadless_.push(m);
}

// --- Ms that rest ---

void m_pool::rest(M& m, std::int64_t now_ns) noexcept {
  if (timekeeper_ == &m) timekeeper_ = nullptr;
  change(m, m_status::idle);
  idle_.insert_before(m.residents.any() ? first_idle() : idle_without_residents(), m);
  m.idle_since_ns = now_ns;
}

M* m_pool::idle_without_residents() const noexcept {
  M* m = first_idle();
  while (m != nullptr && m->residents.any()) m = next_idle(*m);
  return m;
}

void m_pool::make_timekeeper(M& m) noexcept {
  THRUM_DCHECK(timekeeper_ == nullptr);
  change(m, m_status::timekeeper);
  timekeeper_ = &m;
}

bool m_pool::take(M& m) noexcept {
  bool const is_to_be_woken = m.status != m_status::roused;
  if (m.status == m_status::idle) {
    idle_.remove(m);
  } else {
    THRUM_DCHECK(timekeeper_ == &m);
    timekeeper_ = nullptr;
  }
  change(m, m_status::awake);
  return is_to_be_woken;
}

// --- giving an M a P ---

void m_pool::promise(M& m, P& p) noexcept {
  THRUM_DCHECK(!m.spinning);
  m.next_p = &p;
}

void m_pool::promise(M& m, P& p, G& brought, bool stands_in) noexcept {
  promise(m, p);
  bring(m, brought);
  m.stands_in = stands_in;
  m.suspend_by = m.usual_suspend_mode();
}

P* m_pool::take_back_promise(M& m) noexcept {
  change(m, m_status::starting_without_p);
  end_stand_in(m);  // the thread that gives m another P may want it for other work
  P* const p = m.next_p;
  m.next_p = nullptr;
  return p;
}

// --- the end of a run ---

void m_pool::wait_for_end(M& m0) noexcept {
  if (m0.status != m_status::waits_for_end) change(m0, m_status::waits_for_end);
}

void m_pool::dismiss(M& m) noexcept {
  if (m.rests()) static_cast<void>(take(m));
  change(m, m_status::dismissed);
}

}  // namespace thrum::rt
