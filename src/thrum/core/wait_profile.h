// The block profile and the mutex profile: for how long goroutines wait, by place (Go's profiles of these names).
//
//  - The block profile has the places where goroutines waited for each other: channels, selects, locks, joins. Sleeps
//    and the network are left out.
//  - The mutex profile has the places where a lock was released that others waited for, with the time that they waited.
//
// Both are off until the program sets a rate. Off, they cost a load and a branch where a goroutine parks and where one
// is readied. On, only a sample of the waits is noted. Short waits would be most of the samples, so a wait of `ns` is
// noted with the probability ns / rate, and counts as rate / ns waits.
//
// The places belong to the process and not to a run, and are never forgotten.
//
// A stack is walked inside the runtime and on the goroutine's own stack. So it is walked only if that takes no lock
// (os/late_code.h) and if there is room for it. Otherwise the place is the one where the goroutine was created.
#pragma once

#include "base/atomic.h"
#include "core/status.h"
#include "os/lock.h"

#include <cstddef>
#include <cstdint>

namespace thrum::rt {

struct G;
struct M;

enum class wait_kind : std::uint8_t { blocked, contended };

struct wait_place {
  static constexpr std::size_t frames_max = 32;

  std::uint64_t hash = 0;  // 0: the entry is free
  double waits = 0;
  double ns = 0;
  std::uint32_t frames = 0;
  wait_reason reason = wait_reason::none;
  std::uintptr_t pcs[frames_max] = {};
};

class wait_profile {
 public:
  static constexpr std::size_t places_max = 4096;

  constexpr wait_profile() noexcept = default;

  // Makes room for the places. Returns false if there is no memory. Must not be called inside the runtime.
  [[nodiscard]] bool make_room() noexcept;
  // The calling goroutine or thread is inside the runtime, or has the mark set (runtime_mark).
  void add(wait_place const& found) noexcept;
  // Copies entry n and returns true if it is in use.
  [[nodiscard]] bool read(std::size_t n, wait_place& to) noexcept;
  // What had no room.
  [[nodiscard]] wait_place lost() noexcept;

  // The rate in force. blocked: the time of waiting that makes one sample, in ns. contended: one wait in so many.
  // 0: off. It is the program's rate if that is not 0, and otherwise the client's.
  atomic<std::uint64_t> rate{0};
  atomic<std::uint64_t> rate_of_program{0};
  atomic<std::uint64_t> client{0};  // see client_rate
  atomic<std::int64_t> on_since_ns{0};

 private:
  os::lock lock_{lock_rank::leaf};
  atomic<wait_place*> places_{nullptr};
  // under lock_
  wait_place lost_;
};

extern constinit wait_profile blocked_waits;
extern constinit wait_profile contended_waits;

inline constexpr std::uint32_t blocked_waits_bit = 1;
inline constexpr std::uint32_t contended_waits_bit = 2;
// Which of the two profiles are on. relaxed: a wait that begins or ends meanwhile is noted or not.
inline constinit atomic<std::uint32_t> wait_profiles_on{0};

// A profile is asked for by the program itself, or by a client of its debug socket. Neither sees or changes the rate of
// the other one. make_room has succeeded. These functions take no lock, so that a child of fork may call them.

// 0: off. Returns the program's rate before.
std::uint64_t set_rate(wait_kind which, std::uint64_t rate) noexcept;

// Sets the rate for a client, and returns a number with which it is ended. A client that sets its rate later takes the
// place of the one before, which may be a client of an earlier run whose server is late.
[[nodiscard]] std::uint32_t begin_client_rate(wait_kind which, std::uint32_t rate) noexcept;
// Has no effect if another client has set its rate meanwhile.
void end_client_rate(wait_kind which, std::uint32_t number) noexcept;
// In a child of fork, which has no clients.
void forget_client_rates() noexcept;

// --- called if a profile is on ---

// m's goroutine is about to park. Returns the time, or 0 if its wait is of no interest.
[[nodiscard]] std::int64_t begin_profiled_wait(G& g, wait_reason why) noexcept;
// The goroutine has been woken, and runs on m.
void end_profiled_wait(M& m, wait_reason why, std::int64_t since_ns) noexcept;

// For how long g, which is waiting, has waited for a lock. 0: it is not known, or it waits for something else.
[[nodiscard]] std::int64_t contended_ns(G const& g) noexcept;
// m's goroutine has released a lock. `waits` goroutines had waited for it, for `ns` in sum.
void note_contention(M& m, wait_reason why, std::uint64_t waits, std::int64_t ns) noexcept;

}  // namespace thrum::rt
