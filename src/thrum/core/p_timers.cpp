#include "core/p_timers.h"

#include "base/heuristics.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

namespace thrum::rt {

// Entries become valid, and cease to be valid, only under lock_.
bool p_timers::is_dead(timer_entry const& e) const noexcept {
  if (!e.is_record()) return false;
  timer_record const& r = e.record();
  return r.in.load(relaxed) != this || r.queued_ns != e.when_ns;
}

void p_timers::drop_dead(timer_entry const& e) noexcept {
  --dead_;
  drop_reference(e.record());
}

void p_timers::drop_dead_first(std::uint32_t limit) noexcept {
  for (; limit > 0 && has_dead_first(); --limit) drop_dead(heap_.pop());
}

// Publishes the next time after entries have been removed, which is never earlier than the time before. If it looks
// earlier, the first entry was dead before a later one was pushed.
void p_timers::tell_next() noexcept {
  std::int64_t const next = heap_.size() == dead_ ? never_ns : heap_.first().when_ns;
  if (next > next_when_.load(relaxed)) next_when_.store(next, seq_cst);
}

void p_timers::sweep_if_worth_it() noexcept {
  if (unswept_ == 0) {
    if (dead_ < timers_dead_min) return;
    std::uint32_t const size = heap_.size();
    if (size <= timer_sweep_whole_max) {
      if (dead_ >= size / 4) sweep_whole();
      return;
    }
    if (dead_ < size / 8) return;
    unswept_ = size;
  }
  sweep_some();
}

void p_timers::sweep_whole() noexcept {
  // Two entries of one record at the same time both look valid although one of them is dead. That one stays counted.
  dead_ -= heap_.remove_if([this](timer_entry const& e) {
    if (!is_dead(e)) return false;
    drop_reference(e.record());
    return true;
  });
}

// Goes from the last place to the first. A push or a pop meanwhile may move a dead entry from a place that has not been
// looked at to one that has. The next pass finds it.
void p_timers::sweep_some() noexcept {
  unswept_ = std::min(unswept_, heap_.size());
  std::uint32_t const looked_at = std::min(unswept_, timer_sweep_step);
  for (std::uint32_t i = 1; i <= looked_at; ++i) {
    __builtin_prefetch(reinterpret_cast<void const*>(heap_.at(unswept_ - i).target & ~std::uintptr_t{1}));
  }
  for (std::uint32_t left = looked_at; left > 0 && unswept_ > 0; --left) {
    std::uint32_t const place = unswept_ - 1;
    timer_entry const e = heap_.at(place);
    if (!is_dead(e)) {
      --unswept_;
      continue;
    }
    heap_.remove(place);
    drop_dead(e);
    unswept_ = std::min(unswept_, heap_.size());  // this place is looked at once more: see timer_heap::remove
  }
}

added_as p_timers::push(timer_entry e) noexcept {
  heap_.push(e);
  if (e.when_ns >= next_when_.load(relaxed)) return added_as::later;
  next_when_.store(e.when_ns, seq_cst);  // the caller looks at the idle Ps after this: timekeeper.h
  return added_as::first;
}

added_as p_timers::add(G& sleeper, std::int64_t when_ns) noexcept {
  os::lock_guard const guard(lock_);
  return push(timer_entry::of(when_ns, sleeper));
}

added_as p_timers::add(timer_record& r) noexcept {
  r.references.fetch_add(1U, relaxed);  // relaxed: the caller holds one
  os::lock_guard const guard(lock_);
  r.in.store(this, relaxed);  // published by lock_
  r.queued_ns = r.when_ns;
  return push(timer_entry::of(r.when_ns, r));
}

bool p_timers::keeps(timer_record const& r, std::int64_t when_ns) noexcept {
  os::lock_guard const guard(lock_);
  return r.in.load(relaxed) == this && r.queued_ns <= when_ns;
}

added_as p_timers::arm(timer_record& r, std::int64_t when_ns, std::uint32_t epoch) noexcept {
  p_timers* const old = r.in.load(acquire);  // a hint: see timer_record.h; pairs with take_due
  // An entry that a run which is over has left behind, because its Ms never reached their end, will not reach the top.
  bool const is_queued = old != nullptr && r.armed_in == epoch;
  r.armed_in = epoch;
  if (is_queued && old->keeps(r, when_ns)) {
    r.when_ns = when_ns;
    return added_as::later;
  }
  if (old != nullptr) old->forget(r);
  r.when_ns = when_ns;
  return add(r);
}

bool p_timers::has_due(std::int64_t now_ns, std::uint32_t epoch) noexcept {
  constexpr std::size_t records_max = 64;
  std::array<timer_record*, records_max> records;
  std::size_t count = 0;
  bool found = false;
  {
    os::lock_guard const guard(lock_);
    heap_.for_each([&](timer_entry const& e) noexcept {
      if (e.when_ns > now_ns || is_dead(e)) return;
      if (!e.is_record()) {
        found = true;
      } else if (count < records.size()) {
        e.record().references.fetch_add(1U, relaxed);  // the entry holds one, too
        records[count++] = &e.record();
      }
    });
  }
  for (timer_record* const r : std::span(records.data(), count)) {
    {
      os::lock_guard const guard(r->lock);
      found = found || (r->armed_in == epoch && r->when_ns <= now_ns);
    }
    drop_reference(*r);
  }
  return found;
}

void p_timers::forget(timer_record& r) noexcept {
  os::lock_guard const guard(lock_);
  if (r.in.load(relaxed) != this) return;  // another thread took the entry out a moment ago
  r.in.store(nullptr, release);
  ++dead_;
  sweep_if_worth_it();
  drop_dead_first(timer_sweep_step);
  tell_next();
}

std::uint32_t p_timers::take_due(std::int64_t now_ns, timer_entry* out, std::uint32_t limit) noexcept {
  std::uint32_t taken = 0;
  std::uint32_t ahead = 0;
  for (;;) {
    os::lock_guard const guard(lock_);
    std::uint32_t left = timers_popped_at_once;
    for (; left > 0 && taken < limit && !heap_.empty() && heap_.first().when_ns <= now_ns; --left) {
      timer_entry const e = heap_.pop();
      __builtin_prefetch(reinterpret_cast<void const*>(e.target), 1);
      if (e.is_record()) {
        if (is_dead(e)) {
          drop_dead(e);
          continue;
        }
        // pairs with arm: this thread has read the record before it is rewritten
        e.record().in.store(nullptr, release);
      }
      out[taken++] = e;
    }
    bool const has_room = taken < limit;
    if (left != 0 || !has_room) {
      ahead += timers_popped_at_once;
      drop_dead_first(timers_popped_at_once);
    }
    tell_next();
    bool const is_due = has_room && !heap_.empty() && heap_.first().when_ns <= now_ns;
    if (!is_due && (ahead >= timers_dropped_ahead_max || !has_dead_first())) return taken;
  }
}

std::uint32_t p_timers::take_any_of(timer_entry* out, std::uint32_t limit) noexcept {
  std::uint32_t taken = 0;
  os::lock_guard const guard(lock_);
  std::uint32_t const size = heap_.size();
  for (std::uint32_t i = 1; i <= std::min(size, limit); ++i) {
    __builtin_prefetch(reinterpret_cast<void const*>(heap_.at(size - i).target & ~std::uintptr_t{1}), 1);
  }
  while (taken < limit && !heap_.empty()) {
    timer_entry const e = heap_.take_last();
    if (e.is_record()) {
      if (is_dead(e)) {
        drop_dead(e);
        continue;
      }
      e.record().in.store(nullptr, release);  // as in take_due
    }
    out[taken++] = e;
  }
  tell_next();
  return taken;
}

timer_record* p_timers::take_any() noexcept {
  timer_entry e{};
  while (take_any_of(&e, 1) != 0) {
    if (e.is_record()) return &e.record();
  }
  return nullptr;
}

}  // namespace thrum::rt
