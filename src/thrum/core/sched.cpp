#include "core/sched.h"

#include "os/barrier.h"
#include "os/thread.h"

#include <vector>

namespace thrum::rt {

namespace {

// relaxed: one run at a time begins
std::uint32_t next_epoch() noexcept {
  static constinit atomic<std::uint32_t> newest{0};
  std::uint32_t const next = newest.load(relaxed) % 0xffffU + 1;
  newest.store(next, relaxed);
  return next;
}

}  // namespace

constinit atomic<std::uint32_t> Sched::live_epoch{0};
constinit atomic<std::int32_t> Sched::threads_asleep_for_good{0};

void Sched::forget_threads_of_parent() noexcept {
  static constinit atomic<std::int32_t> counted_in{0};  // relaxed: one run at a time
  std::int32_t const here = os::process_id();
  if (counted_in.exchange(here, relaxed) != here) threads_asleep_for_good.store(0, relaxed);
}

Sched::Sched(settings const& chosen)
    : options(chosen),
      epoch(next_epoch()),
      ms_signals(chosen.async_preemption ? os::signal_mask::of_this_thread().without(chosen.preempt_signal)
                                         : os::signal_mask::of_this_thread()),
      stack_reach(std::clamp(chosen.stack_size, stack_size_min, stack_size_max) + stack_join_reserve_bytes),
      steal_steps(static_cast<std::uint32_t>(chosen.procs)),
      stacks(chosen.stack_size) {
  os::prepare_barrier();
  std::vector<std::unique_ptr<P>> made;  // so that they are freed if there is no memory for one of them
  made.reserve(static_cast<std::size_t>(chosen.procs));
  for (int i = 0; i < chosen.procs; ++i) made.push_back(make_proc(i));
  for (std::unique_ptr<P>& p : made) procs.add(*p.release());
  use_procs(chosen.procs);
  // Last, because a run whose construction fails is not the live run. relaxed: the threads that read it are started
  // later, or learn of the run in other ways.
  live_epoch.store(epoch, relaxed);
}

Sched::~Sched() {
  // relaxed: a run whose start has failed has no threads. A run that has ended did this before
  if (live_epoch.load(relaxed) == epoch) live_epoch.store(0, relaxed);
  for (P* const p : procs.all()) delete p;  // NOLINT(cppcoreguidelines-owning-memory)
}

stack* Sched::allocate_stack(G const& g) noexcept {
  std::size_t const reach = stack_size_of(g) + stack_join_reserve_bytes;
  // relaxed: a goroutine on a smaller stack sees the value, because the M that gave it the stack wrote it, or it was
  // written before the goroutine was queued.
  std::size_t least = stack_reach.load(relaxed);
  while (reach < least && !stack_reach.compare_exchange(least, reach, relaxed, relaxed)) {
  }
  return stacks.allocate(stack_size_of(g));
}

void Sched::use_procs(int count) noexcept {
  steal_steps = coprime_steps(static_cast<std::uint32_t>(count));
  procs.set_size(count);
  for (P* const p : procs) {
    p->queue.set_has_thieves(count > 1);
    if (options.randomize) p->queue.set_randomised();
  }
}

std::unique_ptr<P> Sched::make_proc(int id) {
  random_source seeds(options.seed + static_cast<std::uint64_t>(id));
  return std::make_unique<P>(*this, id, options.run_queue_capacity, seeds.next());
}

}  // namespace thrum::rt
