// Lets tests put goroutines into queues directly. Everywhere else only sched/runnable.* can.
#pragma once

#include "core/push_key.h"

namespace thrum::rt {

struct test_room {
  static constexpr push_key key() noexcept { return {}; }
};

}  // namespace thrum::rt

namespace thrum::test {

inline constexpr rt::push_key push = rt::test_room::key();

}  // namespace thrum::test
