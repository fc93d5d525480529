// A broadcast: all goroutines that wait for an address become runnable.
#pragma once

#include "core/m.h"
#include "core/wait_table.h"

#include <cstdint>

namespace thrum::rt {

// Takes all waiters of the address out of the bucket, which is locked, unlocks it, and makes the waiters runnable. The
// object is not touched. A waiter that has not parked yet (sudog::still_runs) finds handed_over set. `site` is that of
// ready().
void release_all(M& m, wait_bucket& bucket, void const* address, std::uintptr_t site = 0) noexcept;

}  // namespace thrum::rt
