// The node of a context that can be cancelled, and the tree that these nodes form (Go's cancelCtx).
//
// Invariants:
//  1. A node is linked in the list of the nearest such node above it until it is done with all that is below it, or dies.
//     The links belong to the lock of the list's owner. A node counts its parent; the list does not count its members.
//  2. `reason` is set once, under the lock. From then on the node takes no new members: whoever comes is born cancelled.
//  3. The moment at which a node is done is one store: that of `state`, or, when somebody has asked for the channel, the
//     closing of it. The reason is set before. So err() and done() can never disagree.
//  4. Every step of a cancellation (set the reason, tell it, go to the members, leave the list) may be taken by several at
//     once, and is taken again by whoever comes later, until nothing is left in the list. So each of them, when it
//     returns, has seen everything below done, and nobody waits for anybody.
//
// The lock is held for a few stores; never two of them, nor any other lock under one. Nothing is allocated, freed or
// called under it (T01).
#pragma once

#include "core/current.h"
#include "os/spin_lock.h"
#include <thrum/context.h>

#include <cstdint>
#include <exception>
#include <optional>
#include <stop_token>

namespace thrum::detail {

struct cancel_reason {
  context_errc error = context_errc::canceled;
  std::exception_ptr cause;  // nullptr: nobody gave one
};

enum class done_state : std::uint8_t {
  open,     // nobody has asked for the channel
  channel,  // there is one: it tells whether the node is done
  done,     // and nobody had asked for the channel
};

struct cancel_node : context_node, cancel_link {
  cancel_node(context_reference parent_node, std::optional<context::time_point> until) noexcept
      : context_node(parent_node.get(), this, false), deadline(until) {
    static_cast<void>(parent_node.give_up());  // its count is ours
  }
  void end() noexcept override;
  virtual void was_canceled() noexcept {}  // by several at once, and again

  [[nodiscard]] channel* core() const noexcept { return done_channel.channel_handle::core(); }
  [[nodiscard]] cancel_node* above() const noexcept { return parent == nullptr ? nullptr : parent->canceled_with; }

  // fixed
  std::optional<context::time_point> const deadline;  // the earliest here and above

  // written under lock, read by anybody
  rt::atomic<done_state> state{done_state::open};

  rt::os::spin_lock lock{rt::lock_rank::leaf};
  // under lock
  cancel_link* members = nullptr;
  // set once, under lock
  cancel_reason const* reason = nullptr;  // its own, or of a node above
  cancel_reason own_reason;
  chan<std::monostate> done_channel{nullptr};
  std::stop_source stop{std::nostopstate};
};

// Into the list of the one above, when the node is complete: unless that one is done, then so is this. And out of it.
void enter_list(cancel_node& node) noexcept;
void leave_list(cancel_node& node) noexcept;

// Holds a node's lock; on a goroutine that is inside the runtime.
class [[nodiscard]] node_guard {
 public:
  explicit node_guard(cancel_node& node) noexcept : m_(rt::current_m()), lock_(node.lock) {
    if (m_ != nullptr) rt::enter(*m_);
    lock_.acquire();
  }
  ~node_guard() {
    lock_.release();
    if (m_ != nullptr) rt::leave(*m_);
  }
  node_guard(node_guard const&) = delete;
  node_guard& operator=(node_guard const&) = delete;

 private:
  rt::M* const m_;
  rt::os::spin_lock& lock_;
};

// One more reference, unless the last one is gone already.
[[nodiscard]] bool try_retain(context_node& node) noexcept;

// Cancels the node and everything below. Throws what close_if_open does; then some of it is not done yet, and whoever
// cancels it next goes on there.
void cancel(cancel_node& top, context_errc error, std::exception_ptr cause);

// One step of it: the node itself is done when this returns, with its own reason if it has one already.
void tell(cancel_node& node, cancel_reason const& why);

// Why it is done; nullptr while it is not.
[[nodiscard]] cancel_reason const* reason_of(context_node const* node) noexcept;

}  // namespace thrum::detail
