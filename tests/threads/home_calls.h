// A call that parks its goroutine in the way in which thrum::posix makes calls of the C library park. Checks what T08
// promises for such a call: it returns on the same thread, and the address of errno is the same.
#pragma once

#include "core/current.h"
#include "os/thread.h"
#include "sched/home.h"
#include "support/goroutines.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <cerrno>
#include <utility>

#include <gtest/gtest.h>

namespace thrum::test {

// The address of errno, as the compiler may keep it across a call to a function that it cannot see into.
[[gnu::noinline]] inline int* errno_address() {
  int* where = &errno;
  asm volatile("" : "+r"(where));
  return where;
}

// Calls f at home. Returns the thread's tid.
template <class F>
int call_at_home(F f) {
  int* const kept = errno_address();
  int const tid = rt::os::current_tid();
  {
    rt::at_home const here;
    f();
    EXPECT_EQ(rt::os::current_tid(), tid);
    EXPECT_EQ(errno_address(), kept);
  }
  EXPECT_EQ(rt::os::current_tid(), tid);
  return tid;
}

inline bool all_procs_are_idle(rt::Sched const& s) { return s.idle.all_idle(); }

}  // namespace thrum::test
