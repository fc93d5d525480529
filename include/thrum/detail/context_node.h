// The parts of a context: a chain of nodes from the newest to the oldest. Internal: the public header is context.h.
//
// Each with_... function adds one node in front of its parent's chain: a value, or a node that can be cancelled. A node
// holds a counted reference to its parent, so a chain lives as long as its newest node is used. The only pointers from
// parents to children are the lists of what is to be cancelled, and these hold no references to nodes. The background
// context is the empty chain.
#pragma once

#include <thrum/detail/atomic.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <utility>

namespace thrum::detail {

struct cancel_node;

struct context_node {
  // Takes over one reference to `above`.
  context_node(context_node* above, cancel_node* nearest, bool is_value) noexcept
      : parent(above), canceled_with(nearest), holds_value(is_value) {}
  context_node(context_node const&) = delete;
  context_node& operator=(context_node const&) = delete;
  virtual ~context_node() = default;
  // called when the last reference is gone; the parent is alive during the call
  virtual void end() noexcept { delete this; }

  atomic<std::uint32_t> references{1};
  // counted; released by release_context and not by a destructor, so that a long chain needs no recursion
  context_node* const parent;
  // the node itself or its nearest ancestor that can be cancelled; nullptr if there is none
  cancel_node* const canceled_with;
  bool const holds_value;
};

void retain_context(context_node* node) noexcept;  // nullptr is allowed, here and below
// the last release destroys the node, and may in turn be the last one of its parent
void release_context(context_node* node) noexcept;

// A counted reference to a node.
class context_reference {
 public:
  context_reference() noexcept = default;
  explicit context_reference(context_node* owned) noexcept : node_(owned) {}
  context_reference(context_reference const& other) noexcept : node_(other.node_) { retain_context(node_); }
  context_reference(context_reference&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  context_reference& operator=(context_reference other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  ~context_reference() { release_context(node_); }

  [[nodiscard]] context_node* get() const noexcept { return node_; }
  [[nodiscard]] context_node* give_up() noexcept { return std::exchange(node_, nullptr); }

 private:
  context_node* node_ = nullptr;
};

// --- values ---

struct value_base : context_node {
  value_base(context_node* above, std::type_info const& key, std::type_info const& value) noexcept
      : context_node(above, above == nullptr ? nullptr : above->canceled_with, true),
        key_type(key),
        value_type(value) {}
  [[nodiscard]] virtual bool has_key(void const* other) const = 0;  // the other key has the same type
  [[nodiscard]] virtual void const* address() const noexcept = 0;   // the address of the value
  std::type_info const& key_type;
  std::type_info const& value_type;
};

template <class Key, class T>
struct value_node final : value_base {
  template <class K, class V>
  value_node(context_reference above, K&& with_key, V&& with_value)
      : value_base(above.get(), typeid(Key), typeid(T)),
        key(std::forward<K>(with_key)),
        value(std::forward<V>(with_value)) {
    static_cast<void>(above.give_up());  // the node is complete and owns the reference
  }
  [[nodiscard]] bool has_key(void const* other) const override { return key == *static_cast<Key const*>(other); }
  [[nodiscard]] void const* address() const noexcept override { return std::addressof(value); }
  [[no_unique_address]] Key const key;
  T const value;
};

// The newest value with this key, or nullptr if there is none.
[[nodiscard]] value_base const* find_value(context_node const* from, std::type_info const& key_type, void const* key);

// The key of a value that is found by its type alone.
template <class T>
struct type_key {
  friend bool operator==(type_key, type_key) noexcept { return true; }
};

// Text is one type of key, whether it is given as a literal, a std::string or a std::string_view.
template <class K>
inline constexpr bool is_text = std::is_convertible_v<K const&, std::string_view> && !std::is_null_pointer_v<K>;
template <class K>
using key_of = std::conditional_t<is_text<K>, std::string, std::decay_t<K>>;
template <class K>
[[nodiscard]] decltype(auto) as_key(K const& key) {
  if constexpr (std::is_same_v<K, key_of<K>>) {
    return (key);
  } else {
    return key_of<K>(key);
  }
}

// --- callbacks ---

// An entry in the list of nodes and callbacks that a cancelled node has to notify. All fields are under that node's
// lock.
struct cancel_link {
  cancel_link* next = nullptr;
  cancel_link* previous = nullptr;
  bool is_linked = false;
  bool is_callback = false;  // never changes; true: a context_call, false: a cancel_node
};

// A function that is called when a context is cancelled. While it is linked it holds a reference to the context, and
// the list holds a reference to it.
struct context_call : cancel_link {
  explicit context_call(context_reference awaited) noexcept : on(std::move(awaited)) { is_callback = true; }
  context_call(context_call const&) = delete;
  context_call& operator=(context_call const&) = delete;
  virtual ~context_call() = default;
  virtual void start() noexcept = 0;  // called at most once; starts the function in a new goroutine

  context_reference const on;
  atomic<std::uint32_t> references{1};
  atomic<bool> is_over{false};  // the thread that sets it first starts the call, or stops it
};

void await_cancel(context_call& call);  // starts the call at once if the context is cancelled already
[[nodiscard]] bool stop_call(context_call& call) noexcept;  // false: it was started or stopped already
void release_call(context_call* call) noexcept;             // nullptr is allowed

}  // namespace thrum::detail
