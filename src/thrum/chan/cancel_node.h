// The node of a context that can be cancelled, and the tree that these nodes form (Go's cancelCtx).
//
// Invariants:
//  1. A node is linked in the list of the nearest such node above it until everything below it is done, or until it is
//     destroyed. The lock of the list's owner protects the links. A node holds a reference to its parent; the list
//     holds no references to its members.
//  2. `reason` is set once, under the lock. From then on the node takes no new members: a node that is created below it
//     is cancelled from the start.
//  3. A node becomes done by one store: that of `state`, or, if the channel has been asked for, the closing of the
//     channel. The reason is set before. So err() and done() can never disagree.
//  4. Every step of a cancellation (set the reason, tell the node, go to the members, leave the list) may be taken by
//     several threads at once. Each thread that cancels repeats the steps until nothing is left in the list. So when it
//     returns, it has seen everything below done, and no thread waits for another.
//
// The lock is held for a few stores. A thread never holds two of these locks, nor any other lock under one. Nothing is
// allocated, freed or called under it (T01).
#pragma once

#include "os/spin_lock.h"
#include "sync/wait.h"
#include <thrum/context.h>

#include <cstdint>
#include <exception>
#include <optional>
#include <stop_token>

namespace thrum::detail {

struct cancel_reason {
  context_errc error = context_errc::canceled;
  std::exception_ptr cause;  // nullptr: none was given
};

enum class done_state : std::uint8_t {
  open,     // the channel has not been asked for
  channel,  // the channel exists and tells whether the node is done
  done,     // the node is done, and the channel has not been asked for
};

struct cancel_node : context_node, cancel_link {
  cancel_node(context_reference parent_node, std::optional<context::time_point> until) noexcept
      : context_node(parent_node.get(), this, false), deadline(until) {
    static_cast<void>(parent_node.give_up());  // this node takes over its reference
  }
  void end() noexcept override;
  virtual void was_canceled() noexcept {}  // called by several threads at once, and repeatedly

  [[nodiscard]] channel* core() const noexcept { return done_channel.channel_handle::core(); }
  [[nodiscard]] cancel_node* above() const noexcept { return parent == nullptr ? nullptr : parent->canceled_with; }

  // fixed
  std::optional<context::time_point> const deadline;  // the earliest of this node and all nodes above

  // written under lock, read by any thread
  rt::atomic<done_state> state{done_state::open};

  rt::os::spin_lock lock{rt::lock_rank::leaf};
  // under lock
  cancel_link* members = nullptr;
  // set once, under lock
  cancel_reason const* reason = nullptr;  // its own, or that of a node above
  cancel_reason own_reason;
  chan<std::monostate> done_channel{nullptr};
  std::stop_source stop{std::nostopstate};
};

// enter_list puts a complete node into the list of the node above. If the node above is done, this node is done as well
// and is not linked. leave_list takes it out.
void enter_list(cancel_node& node) noexcept;
void leave_list(cancel_node& node) noexcept;

// Holds a node's lock.
class [[nodiscard]] node_guard {
 public:
  explicit node_guard(cancel_node& node) noexcept : lock_(node.lock) { lock_.acquire(); }
  ~node_guard() { lock_.release(); }
  node_guard(node_guard const&) = delete;
  node_guard& operator=(node_guard const&) = delete;

 private:
  rt::runtime_mark mark_;
  rt::os::spin_lock& lock_;
};

// Takes one more reference, unless the last one is gone.
[[nodiscard]] bool try_retain(context_node& node) noexcept;

// Cancels the node and everything below it. Throws what close_if_open throws. Then some nodes below may not be done,
// and the next cancellation continues there.
void cancel(cancel_node& top, context_errc error, std::exception_ptr cause);

// One step of a cancellation. When it returns, the node itself is done, with its own reason if it had one.
void tell(cancel_node& node, cancel_reason const& why);

// Returns why the node is done, or nullptr while it is not.
[[nodiscard]] cancel_reason const* reason_of(context_node const* node) noexcept;

}  // namespace thrum::detail
