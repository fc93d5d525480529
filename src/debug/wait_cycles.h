// Goroutines that wait for each other's locks: nobody will ever get on, whatever the rest of the program does.
//
// Each waits for one lock at most, so they form a graph in which every node has one successor: the holder of that lock, if he waits
// himself. Its circles are the deadlocks. A wait with a time limit ends by itself, and is none.
//
// It is noted bucket by bucket, under each bucket's lock, which keeps alive the lock that is waited for, and the waiter's record:
// so it needs no stopped world. But who runs on may have won a lock and not yet written that it is his (thrum/detail/holder.h):
// where the world runs, or a goroutine was interrupted right there, a circle may be shown that is none.
#pragma once

#include "core/sched.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace thrum::rt {

class wait_cycles {
 public:
  wait_cycles() noexcept = default;
  ~wait_cycles();
  wait_cycles(wait_cycles const&) = delete;
  wait_cycles& operator=(wait_cycles const&) = delete;

  // Allocates nothing from the C library; holds no lock but the buckets', and leaves out one that it does not get in time.
  void note(Sched& s) noexcept;

  // "deadlock: goroutine 7 waits for the mutex 0x10 held by goroutine 9, which waits for ..."; nothing without one. Allocates.
  void write(std::string& out);

  struct wait;

 private:
  void keep_what_is_still_so(Sched& s, std::int64_t until_ns) noexcept;
  [[nodiscard]] wait* holder_of(wait const& one) noexcept;

  wait* all_ = nullptr;
  std::size_t count_ = 0;
  std::size_t room_ = 0;
};

}  // namespace thrum::rt
