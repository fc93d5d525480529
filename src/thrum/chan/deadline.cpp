// Contexts with a deadline (Go's timerCtx): a node that a timer cancels, in a goroutine that starts when the time has
// come.
//
// The node is also its timer's state, and has two reference counts: that of the users of the context, and that of the
// timer (a pending call, a running call). When the first count falls to zero, the node leaves the tree and stops its
// timer. The memory is freed when the second count is zero as well. A call of the timer that comes at that moment finds
// the first count at zero, and does nothing.
#include "chan/cancel_node.h"
#include <thrum/detail/func_timer.h>

#include <utility>

namespace thrum {
namespace detail {
namespace {

// The first base class: if there is no memory for the timer, nothing else has happened.
struct deadline_timer : func_timer_state {
  deadline_timer() { make_func_timer(*this); }
};

struct deadline_node final : deadline_timer, cancel_node {
  deadline_node(context_reference parent_node, context::time_point when, std::exception_ptr given)
      // NOLINTNEXTLINE(bugprone-throw-keyword-missing): a member, not an exception
      : cancel_node(std::move(parent_node), when), cause(std::move(given)) {
    call = [](func_timer_state& self) { static_cast<deadline_node&>(self).is_due(); };
    destroy = [](func_timer_state& self) noexcept { delete &static_cast<deadline_node&>(self); };
  }

  void is_due() {
    if (!try_retain(*this)) return;
    context_reference const held(this);
    cancel(*this, context_errc::deadline_exceeded, cause);
  }
  void was_canceled() noexcept override { stop_func_timer(*this); }
  void end() noexcept override {
    leave_list(*this);
    stop_func_timer(*this);
    release_func_timer(*this);
  }

  std::exception_ptr const cause;
};

}  // namespace

clock::time_point from_now(std::int64_t ns) noexcept {
  clock::time_point const now = clock::now();
  std::int64_t when_ns = 0;
  if (__builtin_add_overflow(now.time_since_epoch().count(), ns, &when_ns)) {
    return ns < 0 ? clock::time_point::min() : clock::time_point::max();
  }
  return clock::time_point(clock::duration(when_ns));
}

}  // namespace detail

using namespace detail;

cancelable with_deadline(context const& parent, clock::time_point when, std::exception_ptr cause) {
  if (auto const earlier = parent.deadline(); earlier && *earlier < when) return with_cancel(parent);
  auto* const node = new deadline_node(parent.node(), when, std::move(cause));
  context_reference const made(node);
  enter_list(*node);
  bool is_canceled = reason_of(node) != nullptr;
  if (clock::time_point const now = clock::now(); !is_canceled && when <= now) {
    node->is_due();
  } else if (!is_canceled) {
    arm_func_timer(*node, (when - now).count());
    {
      node_guard const guard(*node);
      is_canceled = node->reason != nullptr;
    }
    if (is_canceled) stop_func_timer(*node);  // it was cancelled before the timer was armed
  }
  return {context(made), cancel_function(made)};
}

}  // namespace thrum
