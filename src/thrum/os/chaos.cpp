#include "os/chaos.h"

#if THRUM_DEBUG_CHECKS

#include "base/atomic.h"
#include "base/random.h"
#include "os/thread.h"

#include <string_view>

namespace thrum::rt::os {
namespace {

// All accesses are relaxed. The values are set before the threads of a run are made, and a thread that draws with the
// values of the last run does no harm.
constinit atomic<std::uint64_t> seed_in_force{0};
constinit atomic<std::uint32_t> slices_end_one_in{0};
constinit atomic<char const*> points_in_force{nullptr};
constinit atomic<std::uint32_t> generation{0};     // incremented by set_chaos
constinit atomic<std::uint32_t> threads_drawn{0};  // threads that have drawn since set_chaos

struct drawer {
  std::uint32_t generation;
  std::uint64_t state;
};

// Opaque, because it has a thread-local. A draw only decides whether the calling thread is delayed, so it does not
// matter which thread that is.
THRUM_OPAQUE std::uint64_t draw() noexcept {
  static constinit thread_local drawer mine{};
  if (std::uint32_t const now = generation.load(relaxed); mine.generation != now) {
    std::uint64_t const ordinal = threads_drawn.fetch_add(1U, relaxed);
    // The multiplication makes threads with neighbouring ordinals begin with very different states.
    mine = {now, random_source(seed_in_force.load(relaxed) + ordinal * 0x9e3779b97f4a7c15ULL).next()};
  }
  random_source source(mine.state);
  mine.state += 0x9e3779b97f4a7c15ULL;
  return source.next();
}

}  // namespace

void set_chaos(chaos_settings const& chosen) noexcept {
  seed_in_force.store(chosen.seed, relaxed);
  slices_end_one_in.store(chosen.slices_end_one_in, relaxed);
  points_in_force.store(chosen.points, relaxed);
  threads_drawn.store(0, relaxed);
  generation.fetch_add(1U, relaxed);
}

std::uint64_t chaos_draw() noexcept { return draw(); }

bool chaos_names(char const* points, char const* name) noexcept {
  if (points == nullptr || *points == '\0') return true;
  std::string_view const wanted(name);
  std::string_view left(points);
  for (;;) {
    std::size_t const comma = left.find(',');
    std::string_view const one = left.substr(0, comma);
    bool const is_it = wanted == one || (wanted.starts_with(one) && wanted[one.size()] == '.');
    if (!one.empty() && is_it) return true;
    if (comma == std::string_view::npos) return false;
    left.remove_prefix(comma + 1);
  }
}

bool chaos_ends_slice() noexcept {
  std::uint32_t const one_in = slices_end_one_in.load(relaxed);
  if (one_in == 0) [[likely]]
    return false;
  return (draw() >> 8U) % one_in == 0;
}

void chaos_point(char const* name) noexcept {
  if (seed_in_force.load(relaxed) == 0) [[likely]]
    return;
  std::uint64_t const drawn = draw();
  constexpr std::uint64_t one_in = 16;
  if (drawn % one_in != 0 || !chaos_names(points_in_force.load(relaxed), name)) return;
  if (drawn % (4 * one_in) == 0) {
    yield_thread();  // lets other threads run
    return;
  }
  for (std::uint64_t spins = (drawn >> 32U) % 2000; spins > 0; --spins) cpu_relax();
}

}  // namespace thrum::rt::os

#endif
