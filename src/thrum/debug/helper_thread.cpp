#include "debug/helper_thread.h"

#include "core/current.h"
#include "core/sched.h"

namespace thrum::rt {
namespace {

// While the thread exists and is not counted, it is taken for one that the runtime does not know. That only puts the
// report of a deadlock off.
//
// The mark keeps the goroutine that calls this from being paused or stopped while it holds the lock.
void count_own_thread(Sched& s, int change) noexcept {
  runtime_mark const mark;
  os::lock_guard const guard(s.lock);
  s.own_threads += change;
}

}  // namespace

int make_helper_thread(Sched& s, os::thread& made, void* (*entry)(void*), void* argument) noexcept {
  int const error = os::create_thread(made, entry, argument, os::takes_signals::only_its_own);
  if (error == 0) count_own_thread(s, 1);
  return error;
}

void join_helper_thread(Sched& s, os::thread& ended, int const& tid) noexcept {
  count_own_thread(s, -1);
  os::join_thread(ended, tid);
}

}  // namespace thrum::rt
