#include "sched/thread_maker.h"

#include "os/clock.h"
#include "sched/deadlock.h"
#include "sched/m_thread.h"
#include "sched/uring_submit.h"

#include <algorithm>
#include <system_error>
#include <utility>

namespace thrum::rt {
namespace {

// A thread is soon gone, unless a destructor of its thread-locals keeps it, or it is the first thread of the process,
// which stays in the kernel's list.
constexpr std::int64_t look_again_ns = 100'000;
constexpr std::int64_t look_again_max_ns = 100'000'000;
constexpr std::int64_t waited_for_ns = 10'000'000'000;

}  // namespace

// A thread that is gone may have been the last one that could have ended a deadlock.
void thread_maker::look_at_ended_foreign_threads(bool gives_up) noexcept {
  if (leaving_.forget_if([&](int tid) noexcept { return gives_up || !os::thread_is_listed(tid); }) == 0) return;
  os::lock_guard const guard(sched_.lock);
  check_deadlock_locked(sched_);
}

void thread_maker::join_ended_threads(bool gives_up) noexcept {
  ending_.remove_if([&](M& m) noexcept { return join_ended_thread(sched_, m, gives_up); });
}

// Returns how long it is until the next look is due, in ns; -1: there is no thread to look at.
std::int64_t thread_maker::look_at_ending_ms() noexcept {
  std::int64_t const waited_ns = os::monotonic_ns() - last_left_ns_;
  look_at_ended_foreign_threads(waited_ns >= waited_for_ns);
  join_ended_threads(waited_ns >= waited_for_ns);
  if (leaving_.empty() && ending_.empty()) return -1;
  return std::clamp(waited_ns / 4, look_again_ns, look_again_max_ns);
}

thread_maker::orders thread_maker::take_orders() noexcept {
  os::lock_guard const guard(sched_.lock);
  bool const is_news = !sched_.foreign.ended.empty() || sched_.ms.any_ended();
  if (is_news) last_left_ns_ = os::monotonic_ns();
  leaving_.take_from(sched_.foreign.ended);
  while (M* const m = sched_.ms.take_ended()) ending_.push(*m);
  return {sched_.ms.take_orders(), sched_.pauses.take_spare_order()};
}

thread_maker::thread_maker(Sched& s) : sched_(s) {
  ++s.own_threads;
  if (int const error = os::create_thread(thread_, thread_main, this, os::takes_signals::only_its_own)) {
    --s.own_threads;
    throw std::system_error(error, std::generic_category(), "thrum::run: cannot create the thread maker's thread");
  }
  runs_ = true;
}

void thread_maker::stop() noexcept {
  if (!std::exchange(runs_, false)) return;
  stopping_.store(true, release);  // pairs with make_threads
  sched_.thread_maker.notify();
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
  bool const stays = !shut_down_uring(me.sched_);
  me.stays_ = stays;
  me.ended_.wake();  // after this `me` may be gone
  if (stays) os::sleep_for_good();
  return nullptr;
}

void thread_maker::make_threads() noexcept {
  for (;;) {
    std::uint32_t const word = sched_.thread_maker.notify_word();
    if (stopping_.load(acquire)) return;  // pairs with stop()
    submit_to_uring(sched_);
    if (auto const follow_cpus = sched_.thread_maker.take_follow_cpus()) follow_cpus(sched_);
    auto [starting, spare] = take_orders();
    std::int64_t const next_look_ns = look_at_ending_ms();
    if (starting.empty() && !spare) {
      if (auto const errand = sched_.thread_maker.take_errand()) errand(sched_);
      sched_.thread_maker.sleep(word, next_look_ns);
    }
    while (M* const m = starting.pop()) start_thread(sched_, *m);
    if (spare) start_spare_thread(sched_);
  }
}

}  // namespace thrum::rt
