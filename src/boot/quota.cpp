#include "boot/quota.h"

#include "core/current.h"
#include "os/cpu.h"
#include "os/thread.h"
#include "sched/world.h"

#include <algorithm>
#include <new>

namespace thrum::rt {
namespace {

// The run may be over by the time it comes to that: then it has no seat.
void* resize_to(void* cpus) {
  os::set_thread_name("thrum-resize");
  M* const m = callers_m();
  if (m == nullptr || m->sched.procs_by_hand.load(relaxed)) return nullptr;
  try {
    change_procs(*m, static_cast<int>(reinterpret_cast<std::intptr_t>(cpus)));
  } catch (std::bad_alloc const&) {  // there will be another look
  }
  return nullptr;
}

}  // namespace

void follow_cpus(Sched& s) noexcept {
  int const cpus = std::min(os::available_cpus(), procs_max);
  if (cpus == s.procs.size() || s.procs_by_hand.load(relaxed)) return;  // relaxed: looked at again when it matters
  os::thread resizer{};
  if (os::create_thread(resizer, resize_to, reinterpret_cast<void*>(static_cast<std::intptr_t>(cpus))) == 0) {
    os::detach_thread(resizer);
  }
}

int change_procs(M& m, int n) {
  Sched& s = m.sched;
  auto fresh = make_procs(s, n);
  M& here = *current_m();
  int before = 0;
  bool is_done = false;
  enter(here);
  {
    stopped_world const world(here);
    before = s.procs.size();
    is_done = resize(here, n, fresh);
  }
  leave(here);
  if (!is_done) throw std::bad_alloc();
  return before;
}

}  // namespace thrum::rt
