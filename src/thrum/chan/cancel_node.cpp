// Cancels a tree of contexts: see cancel_node.h. Runs on the goroutine or thread that cancels, and never switches
// (T06).
#include "chan/cancel_node.h"

#include <utility>

namespace thrum::detail {

using rt::acq_rel;
using rt::acquire;
using rt::relaxed;
using rt::release;

namespace {

// --- the list of members, under its owner's lock ---

void link(cancel_node& owner, cancel_link& member) noexcept {
  member.next = owner.members;
  member.previous = nullptr;
  if (owner.members != nullptr) owner.members->previous = &member;
  owner.members = &member;
  member.is_linked = true;
}

void unlink(cancel_node& owner, cancel_link& member) noexcept {
  (member.previous == nullptr ? owner.members : member.previous->next) = member.next;
  if (member.next != nullptr) member.next->previous = member.previous;
  member.is_linked = false;
}

bool unlink_if_linked(cancel_node& owner, cancel_link& member) noexcept {
  node_guard const guard(owner);
  bool const was_linked = member.is_linked;
  if (was_linked) unlink(owner, member);
  return was_linked;
}

// Returns the first member. A node stays in the list, and the caller gets a reference to it; a node that is about to be
// destroyed is skipped. A call is taken out, and the list's reference to it goes to the caller.
cancel_link* first_member(cancel_node& owner) noexcept {
  node_guard const guard(owner);
  while (cancel_link* const first = owner.members) {
    bool const is_call = first->is_callback;
    if (!is_call && try_retain(static_cast<cancel_node&>(*first))) return first;
    unlink(owner, *first);
    if (is_call) return first;
  }
  return nullptr;
}

// --- the steps ---

void claim(cancel_node& node, context_errc error, std::exception_ptr& cause) noexcept {
  node_guard const guard(node);
  if (node.reason != nullptr) return;
  node.own_reason.error = error;
  node.own_reason.cause.swap(cause);
  node.reason = &node.own_reason;
}

void start_once(context_call& call) noexcept {
  if (call.is_over.exchange(true, acq_rel)) return;  // pairs with stop_call's
  rt::as_outsider const caller;
  call.start();
}

// The position of a cancellation in the tree. It holds one reference to every node between `top` and `at`, except
// `top`. It starts the calls that it met when the cancellation is over.
struct descent {
  explicit descent(cancel_node& from) noexcept : top(&from), at(&from) {}
  descent(descent const&) = delete;
  descent& operator=(descent const&) = delete;
  ~descent() {
    while (at != top) up();
    while (calls != nullptr) {
      auto* const call = static_cast<context_call*>(std::exchange(calls, calls->next));
      start_once(*call);
      release_call(call);
    }
  }

  void up() noexcept {
    cancel_node* const above = at->above();
    release_context(at);
    at = above;
  }
  void meet(cancel_link& call) noexcept {
    call.next = calls;
    calls = &call;
  }

  cancel_node* const top;
  cancel_node* at;
  cancel_link* calls = nullptr;
};

}  // namespace

void tell(cancel_node& node, cancel_reason const& why) {
  bool has_channel = false;
  std::stop_source stop(std::nostopstate);
  {
    node_guard const guard(node);
    if (node.reason == nullptr) node.reason = &why;
    has_channel = node.state.load(relaxed) == done_state::channel;
    if (!has_channel) node.state.store(done_state::done, release);  // pairs with reason_of
    stop = node.stop;
  }
  if (has_channel) close_if_open(node.core());
  if (stop.stop_possible()) stop.request_stop();
  node.was_canceled();
}

void cancel_node::end() noexcept {
  leave_list(*this);
  delete this;
}

void enter_list(cancel_node& node) noexcept {
  cancel_node* const owner = node.above();
  if (owner == nullptr) return;
  node_guard const guard(*owner);
  if (owner->reason == nullptr) {
    link(*owner, node);
  } else {
    node.reason = owner->reason;
    node.state.store(done_state::done, relaxed);  // relaxed: no other thread knows the node
  }
}

void leave_list(cancel_node& node) noexcept {
  if (cancel_node* const owner = node.above()) static_cast<void>(unlink_if_linked(*owner, node));
}

bool try_retain(context_node& node) noexcept {
  std::uint32_t seen = node.references.load(relaxed);
  while (seen != 0) {
    // relaxed: the list's lock has published what is in the node
    if (node.references.compare_exchange_weak(seen, seen + 1, relaxed, relaxed)) return true;
  }
  return false;
}

void cancel(cancel_node& top, context_errc error, std::exception_ptr cause) {
  claim(top, error, cause);
  descent where(top);
  tell(top, *top.reason);
  for (;;) {
    if (cancel_link* const member = first_member(*where.at)) {
      if (member->is_callback) {
        where.meet(*member);
      } else {
        cancel_reason const& why = *where.at->reason;
        where.at = static_cast<cancel_node*>(member);
        tell(*where.at, why);
      }
      continue;
    }
    leave_list(*where.at);
    if (where.at == &top) return;
    where.up();
  }
}

cancel_reason const* reason_of(context_node const* node) noexcept {
  cancel_node const* const nearest = node == nullptr ? nullptr : node->canceled_with;
  if (nearest == nullptr) return nullptr;
  switch (nearest->state.load(acquire)) {  // pairs with tell, and with done() for the channel
    case done_state::open: return nullptr;
    case done_state::channel: return is_closed(nearest->core()) ? nearest->reason : nullptr;
    case done_state::done: break;
  }
  return nearest->reason;
}

void await_cancel(context_call& call) {
  cancel_node* const owner = call.on.get() == nullptr ? nullptr : call.on.get()->canceled_with;
  if (owner == nullptr) return;
  {
    node_guard const guard(*owner);
    if (owner->reason == nullptr) {
      call.references.fetch_add(1U, relaxed);  // the list's reference; relaxed: the caller has one
      link(*owner, call);
      return;
    }
  }
  tell(*owner, *owner->reason);  // the thread that cancels the owner may not have reached this step
  start_once(call);
}

bool stop_call(context_call& call) noexcept {
  if (call.is_over.exchange(true, acq_rel)) return false;  // pairs with start_once
  cancel_node* const owner = call.on.get() == nullptr ? nullptr : call.on.get()->canceled_with;
  if (owner != nullptr && unlink_if_linked(*owner, call)) release_call(&call);
  return true;
}

void release_call(context_call* call) noexcept {
  // acq_rel: what other threads did with the call is done before it is destroyed
  if (call != nullptr && call->references.fetch_sub(1U, acq_rel) == 1) delete call;
}

}  // namespace thrum::detail
