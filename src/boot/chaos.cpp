#include "boot/chaos.h"

#include "base/random.h"
#include "os/chaos.h"
#include "os/env.h"
#include "os/note.h"
#include "sched/world.h"

#include <cstdlib>
#include <utility>

namespace thrum::rt {

chaos::chaos(Sched& s) noexcept : sched_(s) {
  if constexpr (!debug_checks) return;
  char const* const seed = os::environment("THRUM_CHAOS");
  if (seed == nullptr) return;
  seed_ = std::strtoull(seed, nullptr, 10);
  os::set_chaos(seed_);
  if (os::environment("THRUM_CHAOS_STOPS") == nullptr) return;
  ++s.own_threads;
  runs_ = os::create_thread(thread_, thread_main, this) == 0;
  if (!runs_) --s.own_threads;
}

void chaos::stop() noexcept {
  if (!std::exchange(runs_, false)) return;
  stopping_.store(true, release);  // pairs with the loop
  os::join_thread(thread_);
}

void* chaos::thread_main(void* self) {
  os::set_thread_name("thrum-chaos");
  static_cast<chaos*>(self)->stop_the_world_now_and_then();
  return nullptr;
}

void chaos::stop_the_world_now_and_then() noexcept {
  constexpr std::int64_t patience_ns = 1'000'000'000;
  constexpr std::uint32_t pause_ns_max = 2'000'000;
  random_source random(seed_);
  os::note never;
  while (!stopping_.load(acquire)) {  // pairs with stop
    static_cast<void>(never.sleep_for(random.below(pause_ns_max)));
    if (!sched_.end_is_near.load(relaxed)) {
      stopped_world const world(sched_, patience_ns);
    }
  }
}

}  // namespace thrum::rt
