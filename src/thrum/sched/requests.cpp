#include "sched/requests.h"

namespace thrum::rt {

namespace {

// Takes the request of p, if it is there. The owner and, for an idle P, the caller of for_each_proc compete for it.
bool take_request(P& p) noexcept {
  // acquire pairs with for_each_proc's release: the function is set.
  return (p.attention.fetch_and(~attend::safe_point, acquire) & attend::safe_point) != 0;
}

void stop_locked(Sched& s, P& p) noexcept {
  p.m = nullptr;
  p.transition(p_status::running, p_status::stopped);
  s.world.one_has_stopped();
}

}  // namespace

void run_requested_function(P& p) noexcept {
  if (take_request(p)) p.sched.safe_points.run_on(p);
}

bool stop_if_asked_locked(Sched& s, P& p) noexcept {
  s.lock.assert_held();
  if (!is_to_stop(p)) return false;
  stop_locked(s, p);
  return true;
}

}  // namespace thrum::rt
