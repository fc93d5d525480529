#include "scenes/stage.h"

#include "core/current.h"
#include "core/p.h"
#include <thrum/blocking.h>
#include <thrum/go.h>

#include <utility>

namespace thrum::scenes {

using rt::trace::gate;
using rt::trace::kind;
using lock = std::unique_lock<std::mutex>;

namespace {

// Much longer than a step takes on a machine with a load of 50 and a sanitizer. Only a thread that is lost exceeds it.
constexpr std::chrono::seconds patience{60};

char const* name_of(gate where) noexcept {
  switch (where) {
    case gate::wake: return "wake";
    case gate::search: return "search";
    case gate::steal: return "steal";
    case gate::look: return "look";
  }
  return "?";
}

// gcc 12 at -O3 takes "text" + string for an overlapping copy, so the texts are appended.
std::string name(char kind, int number) {
  std::string made(1, kind);
  made += std::to_string(number);
  return made;
}

std::size_t index(int number) noexcept { return static_cast<std::size_t>(number); }

}  // namespace

stage::stage() = default;

// --- the run ---

void stage::open(rt::Sched& s) noexcept {
  s.trace.observe(*this);
  announces_spinner_ = s.idle.try_begin_spin();
  lock const guard(mutex_);
  sched_ = &s;
  changed_.notify_all();
}

void stage::play_main() {
  actors_[main_actor].id = rt::current_m()->current->id;
  act(main_actor);
  other_actors_.wait();
}

// Called inside the runtime: malloc and the runtime's locks are out of reach.
void stage::note_creation(std::uint64_t id) noexcept {
  int const number = std::exchange(creates_next_, -1);
  if (number < 0) return;
  actors_[index(number)] = {};
  actors_[index(number)].id = id;
}

void stage::act(int number) {
  for (;;) {
    order const what = next_order(number);
    switch (what) {
      case order::none:
      case order::end: return;
      case order::yield: thrum::yield(); break;
      case order::create: {
        int const created = actors_[index(number)].creates;
        {
          lock const guard(mutex_);
          creates_next_ = created;
        }
        other_actors_.add(1);
        thrum::go([this, created] {
          act(created);
          other_actors_.done();
        });
        break;
      }
      case order::short_call:
      case order::long_call:
        thrum::blocking([&] { wait_in_call(number); },
                        what == order::long_call ? blocking_hint::long_call : blocking_hint::may_be_short);
        break;
    }
  }
}

// The actor's thread sleeps here. The mark keeps sysmon from taking its P, as it keeps it from taking that of an M
// which is in the scheduler.
stage::order stage::next_order(int number) noexcept {
  rt::runtime_mark const inside;
  rt::M const* const m = rt::current_m();
  lock guard(mutex_);
  actor& me = actors_[index(number)];
  me.m = m->id;
  me.what = doing::waits;
  me.next = order::none;
  changed_.notify_all();
  changed_.wait(guard, [&] { return is_closed_ || me.next != order::none; });
  me.what = doing::acts;
  return is_closed_ ? order::end : me.next;
}

void stage::wait_in_call(int number) {
  lock guard(mutex_);
  actor& me = actors_[index(number)];
  me.what = doing::calls;
  changed_.notify_all();
  changed_.wait(guard, [&] { return is_closed_ || me.call_may_return; });
  me.call_may_return = false;
  me.what = doing::acts;
}

// --- observer ---

void stage::saw(rt::trace::observed const& event) noexcept {
  rt::M const* const here = rt::current_m();
  lock const guard(mutex_);
  if (is_closed_) return;
  if (event.what == kind::create) note_creation(event.arguments[0]);
  if (event.what == kind::m && event.arguments[0] < ms_.size()) {
    held_m& m = ms_[event.arguments[0]];
    m.rests = event.detail == static_cast<std::uint8_t>(rt::m_status::idle);
    if (m.rests) m.goes_to_rest = false;
    changed_.notify_all();
  }
  if (event_count_ == events_.size()) return;
  events_[event_count_++] = {event, here != nullptr ? here->id : -1, event.p != nullptr ? event.p->id : -1};
}

void stage::at_gate(gate where) noexcept {
  lock guard(mutex_);
  if (is_closed_) return;
  if (where == gate::look) {
    ++sysmon_arrivals_;
    changed_.notify_all();
    changed_.wait(guard, [&] { return is_closed_ || sysmon_may_pass_ > 0; });
    --sysmon_may_pass_;
    return;
  }
  rt::M const* const here = rt::current_m();
  if (here == nullptr || index(here->id) >= ms_.size()) return;
  if (where == gate::wake && !std::exchange(holds_wake_up_, false)) return;
  held_m& m = ms_[index(here->id)];
  if (m.goes_to_rest) return;
  m.where = where;
  m.is_held = true;
  changed_.notify_all();
  changed_.wait(guard, [&] { return is_closed_ || m.may_pass || m.goes_to_rest; });
  m.may_pass = false;
  m.is_held = false;
}

// --- the driver ---

std::string stage::situation() const {
  std::string text;
  for (std::size_t i = 0; i < ms_.size(); ++i) {
    held_m const& m = ms_[i];
    if (!m.is_held && !m.rests && !m.goes_to_rest) continue;
    text += "; ";
    text += name('M', static_cast<int>(i));
    if (m.is_held) text += std::string(" is held at gate ") + name_of(m.where);
    if (m.rests) text += " rests";
    if (m.goes_to_rest) text += " is on its way to rest";
  }
  for (std::size_t i = 0; i < actors_.size(); ++i) {
    actor const& each = actors_[i];
    if (each.what == doing::nothing) continue;
    constexpr std::array<char const*, 4> names{"", "acts", "waits for a command", "is in a call"};
    text += "; ";
    text += name('G', static_cast<int>(i));
    text += " on ";
    text += name('M', each.m);
    text += ' ';
    text += names[static_cast<std::size_t>(each.what)];
  }
  text += "; sysmon has come to its gate ";
  text += std::to_string(sysmon_arrivals_);
  return text + " times";
}

template <class Condition>
void stage::await(std::string const& what, Condition condition) {
  lock guard(mutex_);
  bool const has_come = changed_.wait_for(guard, patience, [&] { return is_closed_ || condition(); });
  if (is_closed_) throw stage_failure("the run has ended before " + what);
  if (has_come) return;
  throw stage_failure("the scene does not go on: waited 60 s until " + what + situation());
}

void stage::await_opening() {
  await("the run has begun", [&] { return sched_ != nullptr; });
  if (!announces_spinner_) throw stage_failure("an M searched for work before the main goroutine ran");
}

void stage::let_wake_ups_through() {
  if (!std::exchange(announces_spinner_, false)) return;
  rt::os::lock_guard const guard(sched_->lock);
  sched_->idle.take_back_spin();
}

void stage::close() noexcept {
  if (sched_ != nullptr) let_wake_ups_through();
  lock const guard(mutex_);
  is_closed_ = true;
  changed_.notify_all();
}

void stage::give_order(int number, order what) {
  await_command_of(number);
  lock const guard(mutex_);
  actors_[index(number)].next = what;
  actors_[index(number)].what = doing::acts;
  changed_.notify_all();
}

void stage::tell_to_create(int number, int created) {
  await_command_of(number);
  {
    lock const guard(mutex_);
    actors_[index(number)].creates = created;
  }
  give_order(number, order::create);
}

void stage::tell_to_yield(int number) { give_order(number, order::yield); }
void stage::tell_to_call(int number, bool long_call) {
  give_order(number, long_call ? order::long_call : order::short_call);
}
void stage::tell_to_end(int number) { give_order(number, order::end); }

void stage::let_call_return(int number) {
  await_in_call(number);
  lock const guard(mutex_);
  actors_[index(number)].call_may_return = true;
  actors_[index(number)].what = doing::acts;
  changed_.notify_all();
}

void stage::await_command_of(int number) {
  await(name('G', number) + " waits for a command", [&] { return actors_[index(number)].what == doing::waits; });
}

void stage::await_in_call(int number) {
  await(name('G', number) + " is in a call", [&] { return actors_[index(number)].what == doing::calls; });
}

int stage::await_newcomer_on(int m) {
  int found = -1;
  await(std::string("a new goroutine runs on ").append(name('M', m)), [&] {
    for (std::size_t i = 0; i < actors_.size(); ++i) {
      actor& each = actors_[i];
      if (each.m != m || each.is_greeted || each.what != doing::waits) continue;
      each.is_greeted = true;
      found = static_cast<int>(i);
      return true;
    }
    return false;
  });
  return found;
}

void stage::await_at(int m, gate where) {
  await(name('M', m) + " is held at gate " + name_of(where),
        [&] { return ms_[index(m)].is_held && !ms_[index(m)].may_pass && ms_[index(m)].where == where; });
}

void stage::let_pass(int m) {
  lock const guard(mutex_);
  if (!ms_[index(m)].is_held) throw stage_failure(name('M', m) + " is not held" + situation());
  ms_[index(m)].may_pass = true;
  changed_.notify_all();
}

void stage::let_rest(int m) {
  {
    lock const guard(mutex_);
    ms_[index(m)].goes_to_rest = true;
    changed_.notify_all();
  }
  await_rest(m);
}

void stage::hold_next_wake_up() {
  lock const guard(mutex_);
  holds_wake_up_ = true;
}

void stage::await_rest(int m) {
  await(name('M', m) + " rests", [&] { return ms_[index(m)].rests; });
}

void stage::await_sysmon() {
  await("sysmon is held", [&] { return sysmon_arrivals_ > 0; });
}

void stage::let_sysmon_look() {
  await_sysmon();
  int before = 0;
  {
    lock const guard(mutex_);
    before = sysmon_arrivals_;
    ++sysmon_may_pass_;
    changed_.notify_all();
  }
  await("sysmon has looked", [&] { return sysmon_arrivals_ > before; });
}

int stage::actor_of(std::uint64_t id) const {
  lock const guard(mutex_);
  for (std::size_t i = 0; i < actors_.size(); ++i) {
    if (id != 0 && actors_[i].id == id) return static_cast<int>(i);
  }
  return -1;
}

std::vector<seen_event> stage::take_events() {
  lock const guard(mutex_);
  auto const end = events_.begin() + static_cast<std::ptrdiff_t>(std::exchange(event_count_, 0));
  return {events_.begin(), end};
}

}  // namespace thrum::scenes
