#include "boot/quota.h"

#include "core/current.h"
#include "os/cpu.h"
#include "os/thread.h"
#include "sched/world.h"

#include <algorithm>
#include <bit>
#include <new>
#include <stdexcept>

namespace thrum::rt {
namespace {

// What can be passed to a thread without memory of its own.
struct order {
  std::uint32_t run;
  std::int32_t cpus;
};

// The run for which a change is under way; 0: none. The change may wait for long, for a world that does not stop.
constinit atomic<std::uint32_t> resized_for{0};

void is_done_for(std::uint32_t run) noexcept {
  static_cast<void>(resized_for.compare_exchange(run, 0, relaxed, relaxed));  // relaxed: it orders nothing
}

void* resize_to(void* packed) {
  os::set_thread_name("thrum-resize");
  auto const asked = std::bit_cast<order>(packed);
  try {
    static_cast<void>(change_procs(asked.cpus, asked.run));
  } catch (std::exception const&) {  // the thread maker will look again, or the run is over
  }
  is_done_for(asked.run);
  return nullptr;
}

}  // namespace

void follow_cpus(Sched& s) noexcept {
  int const cpus = std::min(os::available_cpus(), procs_max);
  if (cpus == s.procs.size() || s.procs_by_hand.load(relaxed)) return;  // relaxed: change_procs reads it once more
  if (resized_for.exchange(s.epoch, relaxed) == s.epoch) return;
  os::thread resizer{};
  if (os::create_thread(resizer, resize_to, std::bit_cast<void*>(order{s.epoch, cpus})) == 0) {
    os::detach_thread(resizer);
  } else {
    is_done_for(s.epoch);
  }
}

int change_procs(int n, std::uint32_t followed_in) {
  M* m = callers_m();
  if (m == nullptr) throw std::logic_error("thrum::set_max_procs: the run has just ended");
  enter_runtime(*m);
  Sched& s = m->sched;
  kept_run const kept(*m);
  leave_runtime(*m);
  auto fresh = make_procs(s, n);
  m = callers_m();
  if (m == nullptr || &m->sched != &s) throw std::logic_error("thrum::set_max_procs: the run has just ended");
  int before = 0;
  bool is_done = false;
  enter_runtime(*m);
  {
    stopped_world const world(*m);
    before = s.procs.size();
    // The thread that follows the machine may have come late.
    bool const is_late = followed_in != 0 && (followed_in != s.epoch || s.procs_by_hand.load(relaxed));
    is_done = is_late || resize(*m, n, fresh);
  }
  leave_runtime(*m);
  if (!is_done) throw std::bad_alloc();
  return before;
}

}  // namespace thrum::rt
