#include "stack/stack_pool.h"

#include "base/check.h"
#include "base/heuristics.h"
#include "base/lock_rank.h"
#include "os/memory.h"
#include "stack/registry.h"

#include <algorithm>
#include <bit>

namespace thrum::rt {
namespace {

std::size_t within_limits(std::size_t size) noexcept { return std::clamp(size, stack_size_min, stack_size_max); }

std::uint32_t slots_at_most(slot_geometry const& geometry) noexcept {
  auto const fitting = std::max<std::size_t>(arena_bytes_max / geometry.stride, 1);
  return static_cast<std::uint32_t>(std::min<std::size_t>(fitting, arena_slots_max));
}

stack* used_again(stack* recycled, std::size_t size) noexcept {
  recycled->size = size;
  forget_frames(*recycled);
  return recycled;
}

}  // namespace

stack_pool::stack_pool(std::size_t default_size, guard_policy policy) noexcept
    : default_size_(within_limits(default_size)), policy_(policy) {
  std::size_t const page_bytes = os::page_size();
  for (std::size_t i = 0; i < classes; ++i) {
    std::size_t const largest = i == 0 ? default_size_ : stack_size_min << (i - 1);
    classes_[i].geometry = slot_geometry::for_size(largest, page_bytes);
    classes_[i].next_slots = std::min(arena_slots_first, slots_at_most(classes_[i].geometry));
  }
}

stack_pool::~stack_pool() {
  for (size_class& sizes : classes_) {
    while (arena* const dead = sizes.arenas) {
      sizes.arenas = dead->next;
      destroy_arena(dead);
    }
  }
}

void stack_pool::abandon() noexcept {
  os::lock_guard const held(lock_);
  for (size_class& sizes : classes_) {
    size_class fresh;
    fresh.geometry = sizes.geometry;
    fresh.next_slots = sizes.next_slots;
    sizes = fresh;
  }
  for (atomic<std::size_t>* count : {&guarded_, &unguarded_, &protections_}) count->store(0, relaxed);
}

std::size_t stack_pool::class_number(std::size_t size) const noexcept {
  if (size == default_size_) return 0;
  return 1 + static_cast<std::size_t>(std::bit_width((within_limits(size) - 1) / stack_size_min));
}

stack* stack_pool::allocate(std::size_t size) noexcept {
  size = within_limits(size);
  size_class& sizes = class_of(size);
  claim claimed;
  stack* recycled = nullptr;
  {
    os::lock_guard const held(lock_);
    recycled = pop_free(sizes);
    if (recycled == nullptr && !claim_slot(sizes, claimed)) return nullptr;
  }
  return recycled == nullptr ? prepare(claimed, size) : used_again(recycled, size);
}

stack* stack_pool::take_recycled(std::size_t size) noexcept {
  size = within_limits(size);
  lock_.acquire();
  stack* const recycled = pop_free(class_of(size));
  lock_.release();
  return recycled == nullptr ? nullptr : used_again(recycled, size);
}

void stack_pool::release(stack* one) noexcept {
  one->goroutine_id = 0;
  os::lock_guard const held(lock_);
  class_of(one->size).free.push(one, one, 1);
}

stack* stack_pool::allocate_batch(std::uint32_t& count) noexcept {
  std::uint32_t const wanted = count;
  count = 0;
  if (wanted == 0) return nullptr;
  size_class& sizes = classes_[0];
  std::array<claim, stacks_carved_at_once> claimed;
  std::uint32_t claims = 0;
  {
    os::lock_guard const held(lock_);
    stack* list = nullptr;
    stack** link = &list;
    while (count < wanted && (*link = pop_free(sizes)) != nullptr) {
      link = &(*link)->next;
      ++count;
    }
    *link = nullptr;
    if (count > 0) return list;
    while (claims < std::min(wanted, stacks_carved_at_once) && claim_slot(sizes, claimed[claims])) ++claims;
  }
  stack* list = nullptr;
  for (count = claims; claims > 0; --claims) {
    stack* const fresh = prepare(claimed[claims - 1], default_size_);
    fresh->next = list;
    list = fresh;
  }
  return list;
}

void stack_pool::release_batch(stack* list, std::uint32_t count) noexcept {
  if (count == 0) return;
  stack* last = list;
  for (std::uint32_t i = 1;; ++i, last = last->next) {
    THRUM_DCHECK(last->size == default_size_);
    last->goroutine_id = 0;
    if (i == count) break;
  }
  os::lock_guard const held(lock_);
  classes_[0].free.push(list, last, count);
}

stack* stack_pool::queue::pop() noexcept {
  stack* const top = first;
  if (top == nullptr) return nullptr;
  first = top->next;
  --count;
  return top;
}

void stack_pool::queue::put(free_stacks::part front, free_stacks::part rest) noexcept {
  if (front.count != 0) front.last->next = rest.first;
  first = front.count != 0 ? front.first : rest.first;
  count = front.count + rest.count;
}

// Prefers the stacks that were used last.
stack* stack_pool::pop_free(size_class& sizes) noexcept {
  if (stack* const recent = sizes.free.pop()) return recent;
  if (stack* const idle = sizes.to_trim.pop()) return idle;
  if (stack* const trimmed = sizes.trimmed.pop()) return trimmed;
  return sizes.condemned.pop();
}

// A cold slot, whose memory was given back, is preferred to a new one, because it has its guard, which may have cost
// two mappings.
bool stack_pool::claim_slot(size_class& sizes, claim& got) noexcept {
  if (sizes.cold > 0) {
    got = claim_cold(sizes);
    return true;
  }
  arena* owner = sizes.arenas;
  if (owner == nullptr || owner->carved.load(relaxed) == owner->slots) {  // relaxed: written under lock_
    if (!grow(sizes)) return false;
    owner = sizes.arenas;
  }
  std::uint32_t const slot = owner->carved.load(relaxed);
  owner->carved.store(slot + 1, thrum::rt::release);  // pairs with the overflow report's acquire
  got = {owner, slot, claim::origin::fresh};
  return true;
}

stack_pool::claim stack_pool::claim_cold(size_class& sizes) noexcept {
  arena* owner = sizes.cold_arena;
  if (owner == nullptr || owner->cold_count == 0) {
    owner = sizes.arenas;
    while (owner->cold_count == 0) owner = owner->next;
    sizes.cold_arena = owner;
  }
  --sizes.cold;
  return {owner, owner->take_cold(), claim::origin::cold};
}

bool stack_pool::grow(size_class& sizes) noexcept {
  arena* const fresh = create_arena(sizes.geometry, sizes.next_slots);
  if (fresh == nullptr) return false;
  fresh->next = sizes.arenas;
  sizes.arenas = fresh;
  // Doubles what this arena got and not what was requested, because the system may have had less address space.
  sizes.next_slots = std::min(fresh->slots * 2, slots_at_most(sizes.geometry));
  return true;
}

stack* stack_pool::prepare(claim const& claimed, std::size_t size) noexcept {
  THRUM_DCHECK(ranks_held() == 0);  // what follows makes a system call and a page fault
  if (claimed.from == claim::origin::fresh) guard(*claimed.owner, claimed.slot);
  return make_stack(*claimed.owner, claimed.slot, size);
}

void stack_pool::guard(arena& owner, std::uint32_t slot) noexcept {
  guard_result const result = install_guard(policy_, owner.slot_begin(slot), owner.geometry.guard_bytes);
  if (result.kind == guard_kind::none) {
    if (unguarded_.fetch_add(1U, relaxed) == 0) announce_unguarded(policy_, result.error);
    return;
  }
  guarded_.fetch_add(1U, relaxed);
  if (result.kind == guard_kind::protection) {
    // relaxed: it is read when the arena is destroyed, and no thread carves then
    owner.protected_guards.fetch_add(1U, relaxed);
    protections_.fetch_add(1U, relaxed);
  }
}

void stack_pool::begin_trim() noexcept {
  os::lock_guard const held(lock_);
  for (size_class& sizes : classes_) {
    if (sizes.to_trim.first == nullptr) sizes.to_trim.put(sizes.free.cut(idle_for::a_while));
  }
}

std::size_t stack_pool::trim(std::size_t at_most) noexcept {
  std::size_t trimmed = 0;
  for (size_class& sizes : classes_) {
    while (trimmed < at_most) {
      lock_.acquire();
      stack* const idle = sizes.to_trim.pop();
      lock_.release();
      if (idle == nullptr) break;
      static_cast<void>(
          give_back_below(*idle, idle->top - stack_trim_keep_bytes));  // not under the lock, because it may take long
      os::lock_guard const held(lock_);
      sizes.trimmed.push(idle, idle, 1);
      ++trimmed;
    }
  }
  return trimmed;
}

void stack_pool::condemn_idle() noexcept {
  os::lock_guard const held(lock_);
  for (size_class& sizes : classes_) {
    // Stacks that are left from the last time are given back first. The present ones are found at the end of the next
    // interval if they are idle until then.
    if (sizes.condemned.first != nullptr) continue;
    free_stacks::part const untrimmed = sizes.free.cut(idle_for::a_long_time);
    sizes.condemned.put(untrimmed, sizes.trimmed.cut(idle_for::a_long_time));
  }
}

std::size_t stack_pool::give_back(std::size_t at_most) noexcept {
  std::size_t given_back = 0;
  for (size_class& sizes : classes_) given_back += give_back(sizes, at_most - given_back);
  return given_back;
}

std::size_t stack_pool::give_back(size_class& sizes, std::size_t at_most) noexcept {
  std::size_t given_back = 0;
  for (std::size_t i = 0; i < at_most; ++i) {
    stack* idle = nullptr;
    {
      os::lock_guard const held(lock_);
      idle = sizes.condemned.pop();
      if (idle == nullptr) break;
    }
    std::uint32_t const slot = slot_of(*idle);
    arena& owner = arena_of(*idle);
    bool const gone = unmake_stack(owner, idle);  // not under the lock, because it may take long
    os::lock_guard const held(lock_);
    if (!gone) {
      sizes.trimmed.push(idle, idle, 1);
      continue;
    }
    owner.mark_cold(slot);
    sizes.cold_arena = &owner;
    ++sizes.cold;
    ++given_back;
  }
  return given_back;
}

std::size_t stack_pool::scavenge() noexcept {
  condemn_idle();
  return give_back(~std::size_t{0});
}

stack_stats stack_pool::stats() noexcept {
  stack_stats sum;
  {
    os::lock_guard const held(lock_);
    for (size_class const& sizes : classes_) {
      sum.untrimmed += sizes.free.count() + sizes.to_trim.count;
      sum.free += sizes.trimmed.count() + sizes.condemned.count;
      sum.given_back += sizes.cold;
      for (arena const* each = sizes.arenas; each != nullptr; each = each->next) {
        ++sum.arenas;
        sum.bytes_reserved += static_cast<std::size_t>(each->end - reinterpret_cast<char const*>(each));
        sum.carved += each->carved.load(relaxed);  // relaxed: written under lock_
      }
    }
  }
  sum.free += sum.untrimmed;
  sum.in_use = sum.carved - sum.free - sum.given_back;
  sum.guarded = guarded_.load(relaxed);
  sum.unguarded = unguarded_.load(relaxed);
  sum.guarded_by_mprotect = protections_.load(relaxed);
  return sum;
}

}  // namespace thrum::rt
