// Making way: a goroutine moves from an M that is home to other goroutines to an M that is not, or back (sched/home.h).
//
// All functions are called on a goroutine, inside the runtime, except where a comment says otherwise.
#pragma once

#include "core/sched.h"

#include <cstdint>

namespace thrum::rt {

// If m is home to other goroutines, moves m's goroutine and its P to an M that is no goroutine's home. A goroutine that
// is at home or locked stays, and so do all at the limit of threads. Returns the M on which the goroutine is then.
M& make_way(M& m) noexcept;

// Moves the goroutine back to an M that is home to others, when the call is over or the lock undone. So an M that stood
// in for such calls remains free for them, and residents do not spread over all threads.
M& go_back(M& m) noexcept;
// The same for the P alone, when the goroutine has left the thread. On g0.
void stand_back(M& m) noexcept;
// The commit step of make_way and go_back: the goroutine that left continues with m's P on another M. `argument` is a
// home_move. It is declared here for tests.
struct home_move {
  enum class move_target : std::uint8_t { m_without_residents, m_with_residents };
  move_target which;
  bool no_thread = false;  // no other thread can be had, so the goroutine stays
};
void commit_move(M& m, G& left, void* argument) noexcept;

// g has arrived on m. If g is inside an announced call, it goes away again when it leaves the runtime, which must not
// happen on an M that is home to others; so g makes way first.
M& arrive_announced(M& m, G& g) noexcept;
[[gnu::always_inline]] inline M& settle_announced(M& m, G& g) noexcept {
  if (g.blocking_depth == 0) [[likely]]
    return m;
  return arrive_announced(m, g);
}

}  // namespace thrum::rt
