#include "sched/thread_maker.h"

#include "os/futex.h"
#include "sched/deadlock.h"
#include "sched/ring_asker.h"
#include "sched/threads.h"

#include <system_error>
#include <utility>

namespace thrum::rt {
namespace {

struct orders {
  M* unborn;
  M* ended;
  bool spare;
};

orders take_orders(Sched& s) noexcept {
  os::lock_guard const guard(s.lock);
  return {std::exchange(s.unborn_ms, nullptr), std::exchange(s.ended_ms, nullptr), std::exchange(s.wants_spare, false)};
}

// As long as the thread is listed it is one that might help.
void look_for_deadlock_without(Sched& s, int tid) noexcept {
  while (os::thread_is_listed(tid)) os::yield_thread();
  os::lock_guard const guard(s.lock);
  check_deadlock_locked(s);
}

}  // namespace

thread_maker::thread_maker(Sched& s) : sched_(s) {
  ++s.own_threads;
  if (int const error = os::create_thread(thread_, thread_main, this, os::takes_signals::only_its_own)) {
    --s.own_threads;
    throw std::system_error(error, std::generic_category(), "thrum::run: the thread that makes threads");
  }
  runs_ = true;
}

void thread_maker::stop() noexcept {
  if (!std::exchange(runs_, false)) return;
  stopping_.store(true, release);  // pairs with make_threads
  ring_thread_maker(sched_);
  ended_.sleep();
  if (stays_) {
    os::detach_thread(thread_);
    Sched::threads_asleep_for_good.fetch_add(1, relaxed);
  } else {
    os::join_thread(thread_, tid_);
  }
}

void* thread_maker::thread_main(void* self) {
  os::set_thread_name("thrum-maker");
  auto& me = *static_cast<thread_maker*>(self);
  me.tid_ = os::current_tid();
  me.make_threads();
  bool const stays = !end_ring(me.sched_);
  me.stays_ = stays;
  me.ended_.wake();  // after this it may be gone
  if (stays) os::sleep_for_good();
  return nullptr;
}

void thread_maker::make_threads() noexcept {
  for (;;) {
    std::uint32_t const bell = sched_.thread_maker_bell.load(acquire);  // pairs with ring_thread_maker
    if (stopping_.load(acquire)) return;                                // pairs with stop()
    ask_ring(sched_);
    if (sched_.cpus_may_have_changed.exchange(false, relaxed) && sched_.follow_cpus != nullptr)
      sched_.follow_cpus(sched_);
    if (int const tid = sched_.thread_that_left.exchange(0, relaxed)) look_for_deadlock_without(sched_, tid);
    auto [next, ended, spare] = take_orders(sched_);
    if (next == nullptr && ended == nullptr && !spare) {
      // pairs with whoever asks
      if (auto const errand = sched_.errand.exchange(nullptr, acquire)) errand(sched_);
      os::futex_wait(sched_.thread_maker_bell, bell, -1);
    }
    while (next != nullptr) start_thread(sched_, *std::exchange(next, next->idle_link));
    if (spare) start_spare_thread(sched_);
    while (ended != nullptr) bury_thread(sched_, *std::exchange(ended, ended->idle_link));
  }
}

void ring_thread_maker(Sched& s) noexcept {
  s.thread_maker_bell.fetch_add(1U, release);  // pairs with its look at the bell
  os::futex_wake(s.thread_maker_bell, 1);
}

}  // namespace thrum::rt
