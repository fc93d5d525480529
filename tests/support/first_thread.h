// The main goroutine leaves the first thread when it parks for the first time (T02). This function makes it park,
// whatever the other Ps do meanwhile.
#pragma once

#include "core/current.h"
#include "os/thread.h"
#include "support/baton.h"
#include <thrum/go.h>

namespace thrum::test {

inline void wait_away_from_the_first_thread() {
  baton b;
  rt::G const& main = *rt::current_m()->current;
  go([&] {
    while (main.status.load(rt::relaxed) != rt::g_status::waiting) rt::os::yield_thread();  // relaxed: only a hint
    b.pass();
  });
  b.take();
}

}  // namespace thrum::test
