#include "core/idle_state.h"

#include "os/clock.h"

namespace thrum::rt {

void idle_state::put(P& p) noexcept {
  lock_.assert_held();
  p.transition(p_status::running, p_status::idle);
  p.m = nullptr;
  p.pace.forget_batch();
  p.idle_since_ns = os::monotonic_ns();
  p.idle_link = list_;
  list_ = &p;
  count_.fetch_add(1, seq_cst);
}

P* idle_state::take() noexcept {
  lock_.assert_held();
  P* const p = list_;
  if (p == nullptr) return nullptr;
  list_ = p->idle_link;
  p->idle_link = nullptr;
  count_.fetch_sub(1, seq_cst);
  p->transition(p_status::idle, p_status::running);
  rt::count(p->counters.idle_ns, static_cast<std::uint64_t>(os::monotonic_ns() - p->idle_since_ns));
  sysmon_.end_deep_sleep();
  return p;
}

void idle_state::put_all() noexcept {
  std::int64_t const now_ns = os::monotonic_ns();
  for (auto i = static_cast<std::size_t>(procs_.size()); i-- > 0;) {
    P& p = *procs_[i];
    p.transition(p_status::stopped, p_status::idle);
    p.idle_since_ns = now_ns;
    p.idle_link = list_;
    list_ = &p;
  }
  count_.store(procs_.size(), relaxed);  // there is no other thread yet
}

}  // namespace thrum::rt
