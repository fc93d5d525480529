#include "core/wait_table.h"

#include "base/check.h"

namespace thrum::rt {

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
      first->last->next = &waiter;
      first->last = &waiter;
      return;
    }
    waiter.next = first;  // takes the first one's place in the tree
    waiter.last = first->last;
    waiter.left = first->left;
    waiter.right = first->right;
    waiter.priority = first->priority;
    *slot = &waiter;
    return;
  }
  // A new address: a treap insertion. Descend while the nodes above have smaller priorities, then split what is below.
  waiter.priority = static_cast<std::uint32_t>(random_.next());
  sudog** at = &root_;
  while (*at != nullptr && (*at)->priority < waiter.priority) {
    at = address < (*at)->address ? &(*at)->left : &(*at)->right;
  }
  split(*at, address, waiter.left, waiter.right);
  *at = &waiter;
}

sudog* wait_bucket::dequeue(void const* address, bool& more) noexcept {
  sudog** const slot = slot_of(address);
  sudog* const first = *slot;
  if (first == nullptr) {
    more = false;
    return nullptr;
  }
  sudog* const second = first->next;
  more = second != nullptr;
  if (second != nullptr) {
    second->last = first->last;
    second->left = first->left;
    second->right = first->right;
    second->priority = first->priority;
    *slot = second;
  } else {
    *slot = merge(first->left, first->right);
  }
  first->next = first->last = first->left = first->right = nullptr;
  first->address = nullptr;
  return first;
}

}  // namespace thrum::rt
