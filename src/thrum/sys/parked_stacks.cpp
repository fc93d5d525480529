#include "sys/parked_stacks.h"

#include "base/heuristics.h"
#include "os/barrier.h"
#include "os/clock.h"
#include "stack/stack.h"

#include <algorithm>
#include <array>

namespace thrum::rt {

using namespace keeping;

namespace {

void clear_scanned(G& g) noexcept {
  g.attention.fetch_and(static_cast<std::uint8_t>(~g_attend::scanned),
                        release);  // pairs with G::end_wait and G::await_scan
}

// Notes the age of a goroutine that has not been seen since it parked. A mutex knows the time exactly. No waker readies
// the goroutine meanwhile.
void note_age(G& g, std::int64_t now_ns) noexcept {
  if ((g.attention.load(relaxed) & g_attend::aged) != 0) return;
  // published by the fetch_or below
  if (hint_of(g.waits_for) != wait_reason::mutex) g.waits_since_ns.store(now_ns, relaxed);
  g.attention.fetch_or(g_attend::aged, release);  // pairs with the dump
}

struct batch {
  std::array<G*, parked_at_once> gs{};
  std::size_t count = 0;

  template <class Condition>
  void drop_if(Condition condition) noexcept {
    auto* const end = gs.data() + count;
    auto* const kept = std::partition(gs.data(), end, [&](G* g) { return !condition(*g); });
    for (auto* g = kept; g != end; ++g) clear_scanned(**g);
    count = static_cast<std::size_t>(kept - gs.data());
  }
};

}  // namespace

void parked_stacks::begin() noexcept {
  if (os::has_barrier()) walk_ = sched_.records.begin_walk();
}

bool parked_stacks::look_at_some() noexcept {
  batch some;
  std::size_t const looked_at_max = what_for_ == purpose::ages ? looked_at_for_ages : looked_at_for_depths;
  bool const more = sched_.records.walk_on(walk_, looked_at_max, [&](G& g) {
    bool const is_asked = g.status.load(relaxed) == g_status::waiting &&
                          (what_for_ == purpose::depths || (g.attention.load(relaxed) & g_attend::aged) == 0);
    if (is_asked) {
      g.attention.fetch_or(g_attend::scanned, relaxed);  // ordered by the barrier
      some.gs[some.count++] = &g;
    }
    return some.count < parked_at_once;
  });
  if (some.count == 0) return more;
  os::barrier_in_all_threads();
  some.drop_if([](G const& g) {
    // A goroutine that waits for its first stack is readied in another way.
    return g.status.load(relaxed) != g_status::waiting || hint_of(g.on) == nullptr ||
           hint_of(g.waits_for) == wait_reason::stack_memory;
  });
  std::int64_t const now_ns = os::monotonic_ns();
  if (what_for_ == purpose::ages) {  // it does not matter whether the goroutine has left its stack
    some.drop_if([&](G& g) {
      note_age(g, now_ns);
      return true;
    });
    return more;
  }
  os::barrier_in_all_threads();
  all_ms const ms = all_ms_now(sched_);
  some.drop_if([&](G const& g) { return ms.find([&g](M const& m) { return hint_of(m.current) == &g; }) != nullptr; });
  os::barrier_in_all_threads();
  some.drop_if([&](G const& g) {
    auto const commits = [&g](M const& m) { return hint_of(m.commit) != nullptr && hint_of(m.committed) == &g; };
    return ms.find(commits) != nullptr;
  });
  os::barrier_in_all_threads();
  for (std::size_t i = 0; i < some.count; ++i) {
    G& g = *some.gs[i];
    note_age(g, now_ns);
    auto const* const sp = static_cast<char const*>(hint_of(g.saved.sp));
    if (g.scavenged_at == sp) {
      static_cast<void>(give_back_below(*hint_of(g.on), sp));
    } else {
      g.scavenged_at = sp;
    }
    clear_scanned(g);  // for each goroutine as soon as it is done, because an M may wait to run it
  }
  return more;
}

}  // namespace thrum::rt
