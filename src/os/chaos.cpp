#include "os/chaos.h"

#if THRUM_DEBUG_CHECKS

#include "base/atomic.h"
#include "base/random.h"
#include "os/thread.h"

namespace thrum::rt::os {
namespace {

constinit atomic<std::uint64_t> seed_in_force{0};
constinit atomic<bool> slices_end_at_random{false};

// A thread's own draws: from the seed and its id. It holds nothing up but its thread: which one that is does not matter.
THRUM_OPAQUE std::uint64_t draw(std::uint64_t seed) noexcept {
  static constinit thread_local std::uint64_t state = 0;
  if (state == 0) state = seed + static_cast<std::uint64_t>(current_tid());
  random_source source(state);
  state += 0x9e3779b97f4a7c15ULL;
  return source.next();
}

}  // namespace

void set_chaos(std::uint64_t seed, slices how) noexcept {
  seed_in_force.store(seed, relaxed);
  slices_end_at_random.store(how == slices::end_at_random, relaxed);
}

bool chaos_ends_slice() noexcept {
  if (!slices_end_at_random.load(relaxed)) [[likely]]
    return false;
  constexpr std::uint64_t one_in = 16;
  return (draw(seed_in_force.load(relaxed)) >> 8U) % one_in == 0;
}

void chaos_point() noexcept {
  std::uint64_t const seed = seed_in_force.load(relaxed);
  if (seed == 0) [[likely]]
    return;
  std::uint64_t const drawn = draw(seed);
  constexpr std::uint64_t one_in = 16;
  if (drawn % one_in != 0) return;
  if (drawn % (4 * one_in) == 0) {
    yield_thread();  // others run meanwhile
    return;
  }
  for (std::uint64_t spins = (drawn >> 32U) % 2000; spins > 0; --spins) cpu_relax();
}

}  // namespace thrum::rt::os

#endif
