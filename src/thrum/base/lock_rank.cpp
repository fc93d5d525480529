#include "base/lock_rank.h"

#include "base/check.h"

#if THRUM_DEBUG_CHECKS

namespace thrum::rt {
namespace {

struct held_ranks {
  lock_rank rank[8];
  int count;
};

// The ranks that the calling thread holds, oldest first. None of the functions below switches stacks, so none of them
// can use the thread-local address of another thread.
thread_local held_ranks held __attribute__((tls_model("initial-exec"))) = {};

}  // namespace

void rank_acquired(lock_rank rank) noexcept {
  THRUM_CHECK(held.count < 8);
  if (held.count > 0 && held.rank[held.count - 1] >= rank) {
    fatal("internal error: lock of rank %d taken while one of rank %d is held", static_cast<int>(rank),
          static_cast<int>(held.rank[held.count - 1]));
  }
  held.rank[held.count++] = rank;
}

void rank_released(lock_rank rank) noexcept {
  THRUM_CHECK(held.count > 0);
  // Locks need not be released in the reverse order, so this removes the given rank wherever it stands.
  int at = held.count - 1;
  while (at >= 0 && held.rank[at] != rank) --at;
  THRUM_CHECK(at >= 0);
  for (; at + 1 < held.count; ++at) held.rank[at] = held.rank[at + 1];
  --held.count;
}

int ranks_held() noexcept { return held.count; }

}  // namespace thrum::rt

#endif
