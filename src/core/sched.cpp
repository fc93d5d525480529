#include "core/sched.h"

namespace thrum::rt {

namespace {

std::uint32_t next_epoch() noexcept {
  static constinit atomic<std::uint32_t> runs{0};
  return 1 + runs.fetch_add(1U, relaxed) % 0xffffU;  // relaxed: only to differ from the last
}

}  // namespace

Sched::Sched(settings const& chosen)
    : options(chosen),
      epoch(next_epoch()),
      steal_steps(static_cast<std::uint32_t>(chosen.procs)),
      stacks(chosen.stack_size) {
  random_source seeds(chosen.seed);
  procs.reserve(static_cast<std::size_t>(chosen.procs));
  for (int i = 0; i < chosen.procs; ++i) {
    procs.push_back(std::make_unique<P>(*this, i, chosen.ring_capacity, seeds.next()));
  }
}

}  // namespace thrum::rt
