#include "core/wait_table.h"

namespace thrum::rt {
namespace {

// Makes another waiter of the same address its first one. It takes the place of the old one in the tree.
void replace_in_tree(sudog** slot, sudog const& old_first, sudog& new_first) noexcept {
  new_first.last = old_first.last;
  new_first.left = old_first.left;
  new_first.right = old_first.right;
  new_first.priority = old_first.priority;
  *slot = &new_first;
}

void forget_links(sudog& waiter) noexcept {
  waiter.next = waiter.last = waiter.left = waiter.right = nullptr;
  waiter.address = nullptr;
}

// Whether the thread that took this waiter out may wake its goroutine.
[[gnu::always_inline]] inline bool is_ours(sudog& taken) noexcept { return !taken.in_race || taken.g->race.win(); }

}  // namespace

sudog* wait_bucket::find(void const* address) const noexcept {
  sudog* node = root_;
  while (node != nullptr && node->address != address) node = address < node->address ? node->left : node->right;
  return node;
}

sudog** wait_bucket::slot_of(void const* address) noexcept {
  sudog** slot = &root_;
  while (*slot != nullptr && (*slot)->address != address) {
    slot = address < (*slot)->address ? &(*slot)->left : &(*slot)->right;
  }
  return slot;
}

void wait_bucket::split(sudog* tree, void const* address, sudog*& less, sudog*& greater) noexcept {
  sudog** less_end = &less;
  sudog** greater_end = &greater;
  while (tree != nullptr) {
    if (tree->address < address) {
      *less_end = tree;
      less_end = &tree->right;
    } else {
      *greater_end = tree;
      greater_end = &tree->left;
    }
    tree = tree->address < address ? tree->right : tree->left;
  }
  *less_end = nullptr;
  *greater_end = nullptr;
}

sudog* wait_bucket::merge(sudog* less, sudog* greater) noexcept {
  sudog* result = nullptr;
  sudog** end = &result;
  while (less != nullptr && greater != nullptr) {
    if (less->priority < greater->priority) {
      *end = less;
      end = &less->right;
      less = less->right;
    } else {
      *end = greater;
      end = &greater->left;
      greater = greater->left;
    }
  }
  *end = less != nullptr ? less : greater;
  return result;
}

void wait_bucket::enqueue(sudog& waiter, void const* address, queue_end where) noexcept {
  waiter.address = address;
  waiter.next = nullptr;
  waiter.last = &waiter;
  sudog** const slot = slot_of(address);
  if (sudog* const first = *slot; first != nullptr) {
    if (where == queue_end::back) {
      waiter.left = first->last;
      first->last->next = &waiter;
      first->last = &waiter;
      return;
    }
    waiter.next = first;
    replace_in_tree(slot, *first, waiter);
    first->left = &waiter;
    return;
  }
  // A new address is a treap insertion: descend while the nodes above have smaller priorities, then split the subtree
  // below.
  waiter.priority = static_cast<std::uint32_t>(random_.next());
  sudog** at = &root_;
  while (*at != nullptr && (*at)->priority < waiter.priority) {
    at = address < (*at)->address ? &(*at)->left : &(*at)->right;
  }
  split(*at, address, waiter.left, waiter.right);
  *at = &waiter;
}

sudog* wait_bucket::take_first(sudog** slot) noexcept {
  sudog* const first = *slot;
  if (sudog* const second = first->next; second != nullptr) {
    replace_in_tree(slot, *first, *second);
  } else {
    *slot = merge(first->left, first->right);
  }
  forget_links(*first);
  return first;
}

sudog* wait_bucket::dequeue(void const* address, bool& more) noexcept {
  sudog** const slot = slot_of(address);  // all waiters of the address share this place in the tree
  more = *slot != nullptr;
  while (more) {
    more = (*slot)->next != nullptr;
    sudog* const first = take_first(slot);
    if (is_ours(*first)) return first;
  }
  return nullptr;
}

bool wait_bucket::take(sudog& waiter) noexcept {
  bool more = false;
  return remove(waiter, more) && is_ours(waiter);
}

void wait_bucket::detach(void const* address, detached_queue& to) noexcept {
  sudog** const slot = slot_of(address);
  sudog* const first = *slot;
  if (first == nullptr) return;
  sudog* const last = first->last;
  *slot = merge(first->left, first->right);
  to.before_.next = first;
  first->left = &to.before_;
  first->last = first->right = nullptr;
  to.behind_.left = last;
  last->next = &to.behind_;
}

sudog* detached_queue::pop() noexcept {
  if (empty()) return nullptr;
  sudog& first = *before_.next;
  before_.next = first.next;
  first.next->left = &before_;
  forget_links(first);
  return is_ours(first) ? &first : nullptr;
}

bool wait_bucket::remove(sudog& waiter, bool& more) noexcept {
  if (waiter.address == nullptr) return false;
  sudog** const slot = slot_of(waiter.address);
  sudog* const first = *slot;
  if (first == &waiter) {
    more = waiter.next != nullptr;
    take_first(slot);
    return true;
  }
  // If the address has no first waiter, this waiter's queue was detached. If the address has one, the queue may have
  // been detached too, and the waiters in the tree came later. In that case it makes no difference whether this waiter
  // counts as one of them.
  more = first != nullptr;
  sudog* const before = waiter.left;
  before->next = waiter.next;
  if (waiter.next != nullptr) {
    waiter.next->left = before;
  } else {
    first->last = before;  // a waiter in a detached queue always has a next one
  }
  forget_links(waiter);
  return more;
}

}  // namespace thrum::rt
