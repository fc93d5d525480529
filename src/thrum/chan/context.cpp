// The public functions of context.h that are not templates. Cancellation itself is in cancel_node.cpp.
#include "base/check.h"
#include "base/first_made.h"
#include "base/never_destroyed.h"
#include "chan/cancel_node.h"

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace thrum {

using namespace detail;

namespace {

class category final : public std::error_category {
 public:
  [[nodiscard]] char const* name() const noexcept override { return "thrum.context"; }
  [[nodiscard]] std::string message(int value) const override {
    return value == static_cast<int>(context_errc::canceled) ? "context canceled" : "context deadline exceeded";
  }
  [[nodiscard]] std::error_condition default_error_condition(int value) const noexcept override {
    return value == static_cast<int>(context_errc::canceled) ? std::errc::operation_canceled : std::errc::timed_out;
  }
};

constinit rt::never_destroyed<category> the_category;

// These are never destroyed, because goroutines that a run leaves behind may use them until the process ends.
template <context_errc Error>
std::exception_ptr const& default_cause() {
  static constinit rt::first_made<std::exception_ptr> cause;
  return cause.get([] { return std::make_unique<std::exception_ptr>(std::make_exception_ptr(context_error(Error))); });
}

chan<std::monostate> const& closed_channel() {
  static constinit rt::first_made<chan<std::monostate>> channel;
  return channel.get([] {
    auto made = std::make_unique<chan<std::monostate>>();
    close_if_open(made->channel_handle::core());
    return made;
  });
}

cancel_node* nearest(context const& ctx) noexcept {
  context_node* const node = ctx.node().get();
  return node == nullptr ? nullptr : node->canceled_with;
}

// A node that is cancelled by a stop_token. The callback runs inside request_stop, on the thread that called it. The
// node may be about to be destroyed then; its destructor waits for the callback to return.
struct stop_node final : cancel_node {
  struct canceler {
    stop_node* node;
    void operator()() const noexcept {
      if (!try_retain(*node)) return;
      context_reference const held(node);
      try {
        cancel(*held.get()->canceled_with, context_errc::canceled, nullptr);
      } catch (std::logic_error const& e) {
        rt::fatal("a std::stop_source has canceled a context, which failed: %s", e.what());
      }
    }
  };
  stop_node() : cancel_node({}, std::nullopt) {}
  std::optional<std::stop_callback<canceler>> registration;
};

context_reference made_from(std::stop_token token) {
  if (!token.stop_possible()) return {};
  auto* const node = new stop_node;
  context_reference owner(node);
  node->registration.emplace(std::move(token), stop_node::canceler{node});  // may run the callback at once
  return owner;
}

}  // namespace

void detail::retain_context(context_node* node) noexcept {
  if (node != nullptr) node->references.fetch_add(1U, relaxed);  // relaxed: the caller has a reference
}

void detail::release_context(context_node* node) noexcept {
  // acq_rel: what other threads did with the node is done before it is destroyed. A loop instead of recursion, because
  // chains may be long.
  while (node != nullptr && node->references.fetch_sub(1U, acq_rel) == 1) {
    context_node* const parent = node->parent;
    node->end();
    node = parent;
  }
}

value_base const* detail::find_value(context_node const* from, std::type_info const& key_type, void const* key) {
  for (; from != nullptr; from = from->parent) {
    if (!from->holds_value) continue;
    auto const& held = static_cast<value_base const&>(*from);
    if (held.key_type == key_type && held.has_key(key)) return &held;
  }
  return nullptr;
}

std::error_category const& context_category() noexcept { return the_category.value; }

context::context(std::stop_token token) : node_(made_from(std::move(token))) {}

context::done_channel context::done() const {
  cancel_node* const node = nearest(*this);
  if (node == nullptr) return chan<std::monostate>(nullptr);
  if (node->state.load(acquire) == done_state::open) {  // pairs with the release below, and with tell()
    chan<std::monostate> made;
    node_guard const guard(*node);
    if (node->state.load(relaxed) == done_state::open) {
      std::swap(node->done_channel, made);
      node->state.store(done_state::channel, rt::release);
    }
  }
  return node->state.load(acquire) == done_state::channel ? node->done_channel : closed_channel();
}

std::error_code context::err() const noexcept {
  cancel_reason const* const reason = reason_of(node_.get());
  return reason == nullptr ? std::error_code() : make_error_code(reason->error);
}

std::exception_ptr context::cause() const {
  cancel_reason const* const reason = reason_of(node_.get());
  if (reason == nullptr) return nullptr;
  if (reason->cause != nullptr) return reason->cause;
  return reason->error == context_errc::canceled ? default_cause<context_errc::canceled>()
                                                 : default_cause<context_errc::deadline_exceeded>();
}

std::optional<context::time_point> context::deadline() const noexcept {
  cancel_node const* const node = nearest(*this);
  return node == nullptr ? std::nullopt : node->deadline;
}

std::stop_token context::get_stop_token() const {
  cancel_node* const node = nearest(*this);
  if (node == nullptr) return {};
  std::stop_source source(std::nostopstate);
  std::stop_source made(std::nostopstate);
  auto const look = [&] {
    node_guard const guard(*node);
    if (!node->stop.stop_possible()) node->stop.swap(made);
    source = node->stop;
    return node->reason;
  };
  cancel_reason const* reason = look();
  if (!source.stop_possible()) {
    made = std::stop_source();
    reason = look();
  }
  if (reason != nullptr) tell(*node, *reason);  // the node may have been cancelled before it had the source
  return source.get_token();
}

void cancel_function::operator()(std::exception_ptr cause) const {
  context_reference const held = node_;  // a stop_callback may destroy *this
  cancel(*held.get()->canceled_with, context_errc::canceled, std::move(cause));
}

cancelable with_cancel(context const& parent) {
  auto* const node = new cancel_node(parent.node(), parent.deadline());
  context_reference const made(node);
  enter_list(*node);
  return {context(made), cancel_function(made)};
}

context without_cancel(context const& parent) {
  context_reference above = parent.node();
  if (above.get() == nullptr) return {};
  auto* const made = new context_node(above.get(), nullptr, false);
  static_cast<void>(above.give_up());  // the new node takes over its reference
  return context(context_reference(made));
}

}  // namespace thrum
