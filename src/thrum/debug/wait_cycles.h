// Goroutines that wait for each other's locks, so that none of them can ever continue, whatever the rest of the program
// does.
//
// Each goroutine waits for at most one lock. So they form a graph in which every node has at most one successor: the
// holder of that lock, if the holder waits itself. The cycles of this graph are the deadlocks. A wait with a time limit
// ends by itself, and is not part of it.
//
// The waits are noted bucket by bucket, under each bucket's lock, which keeps the lock that is waited for and the
// waiter's record alive. So the world need not be stopped. But a running goroutine may have acquired a lock and not yet
// written that it holds it (thrum/detail/holder.h). So while the world runs, or if a goroutine was interrupted at that
// very point, a cycle may be shown that is none.
#pragma once

#include "core/sched.h"
#include "sync/lock_holders.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace thrum::rt {

class wait_cycles {
 public:
  wait_cycles() noexcept = default;
  ~wait_cycles();
  wait_cycles(wait_cycles const&) = delete;
  wait_cycles& operator=(wait_cycles const&) = delete;

  // Allocates nothing from the C library. Holds no lock except those of the buckets, and skips a bucket whose lock it
  // does not get in time.
  void note(Sched& s) noexcept;

  // A goroutine that waits for a lock which the next one of the cycle holds.
  struct link {
    std::uint64_t waiter;  // its id
    lock_wait_kind kind;
    void const* object;
  };
  using cycle = std::vector<link>;
  // The cycles, each once. Allocates.
  [[nodiscard]] std::vector<cycle> find();
  // Writes "deadlock: goroutine 7 waits for the mutex 0x10 held by goroutine 9, which waits for ..." for each of them.
  void write(std::string& out);

  struct wait;

 private:
  void keep_confirmed_waits(Sched& s, std::int64_t until_ns) noexcept;
  [[nodiscard]] wait* holder_of(wait const& one) noexcept;

  wait* all_ = nullptr;
  std::size_t count_ = 0;
  std::size_t room_ = 0;
};

}  // namespace thrum::rt
