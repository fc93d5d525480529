#include "core/residents.h"

#include "base/ablation.h"
#include "base/heuristics.h"

#include <utility>

namespace thrum::rt {

bool residents::is_to_look_at_inbox() noexcept {
  if (queue_.empty()) return true;
  std::uint8_t const turns_wanted = applies(heuristic::turns_past_inbox) ? turns_between_inbox_looks : 1;
  bool const inbox_is_empty = queue_.size() >= runnable_.load(relaxed);  // relaxed: the next turn looks again
  if (inbox_is_empty || ++turns_past_inbox_ < turns_wanted) return false;
  turns_past_inbox_ = 0;
  return true;
}

G* residents::take(os::lock& sched_lock, bool others_wait) noexcept {
  if (!any_runnable()) return nullptr;  // checked under the lock before the P is given up
  if (std::exchange(had_last_turn_, false) && others_wait) return nullptr;
  if (is_to_look_at_inbox()) {
    os::lock_guard const guard(sched_lock);
    queue_.append(inbox_);
  }
  G* const next = queue_.pop_front();
  if (next == nullptr) return nullptr;
  runnable_.fetch_sub(1U, relaxed);
  had_last_turn_ = true;
  return next;
}

}  // namespace thrum::rt
