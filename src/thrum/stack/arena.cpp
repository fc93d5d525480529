#include "stack/arena.h"

#include "base/check.h"
#include "base/round_up.h"
#include "os/memory.h"
#include "stack/guard.h"
#include "stack/instrument.h"

#include <bit>
#include <new>

namespace thrum::rt {
namespace {

// The record occupies whole pages, so that the slots behind it are page-aligned.
std::size_t record_bytes() noexcept { return round_up(sizeof(arena), os::page_size()); }

}  // namespace

slot_geometry slot_geometry::for_size(std::size_t stack_size, std::size_t page_bytes) noexcept {
  constexpr std::size_t top_bytes = sizeof(stack) + (stagger_steps - 1) * cache_line_bytes;
  std::size_t const guard = round_up(stack_guard_bytes, page_bytes);
  std::size_t const usable = round_up(stack_size + stack_join_reserve_bytes + top_bytes, page_bytes);
  std::size_t const pages = (guard + usable) / page_bytes;
  return {.stride = (pages | 1U) * page_bytes, .guard_bytes = guard};
}

stack* arena::descriptor(std::uint32_t slot) const noexcept {
  std::size_t const stagger = slot % stagger_steps * cache_line_bytes;
  return reinterpret_cast<stack*>(slot_end(slot) - stagger - sizeof(stack));
}

void arena::mark_cold(std::uint32_t slot) noexcept {
  THRUM_DCHECK(!is_cold(slot));
  cold[slot / 64] |= std::uint64_t{1} << slot % 64;
  ++cold_count;
}

std::uint32_t arena::take_cold() noexcept {
  for (std::uint32_t word = 0;; ++word) {
    THRUM_CHECK(word < cold.size());
    if (cold[word] == 0) continue;
    auto const bit = static_cast<std::uint32_t>(std::countr_zero(cold[word]));
    cold[word] &= cold[word] - 1;
    --cold_count;
    return word * 64 + bit;
  }
}

arena* map_arena(slot_geometry geometry, std::uint32_t slots) noexcept {
  THRUM_CHECK(slots > 0 && slots <= arena_slots_max);
  std::size_t const header = record_bytes();
  // Checked for each arena, because the program may call mlockall at any time. It costs a few system calls for many
  // slots.
  auto* const reserve = os::memory_is_locked_for_future() ? &os::reserve_on_fault : &os::reserve;
  os::mapping place{};
  for (;; slots /= 2) {
    if (slots == 0) return nullptr;
    place = reserve(header + slots * geometry.stride);
    if (place.address != nullptr) break;
  }
  std::size_t const bytes = header + slots * geometry.stride;
  (void)os::advise_no_huge_pages(place.address, bytes);  // refused only by kernels that have no huge pages

  auto* const fresh = ::new (place.address) arena();
  fresh->first_slot = place.address + header;
  fresh->end = place.address + bytes;
  fresh->geometry = geometry;
  fresh->slots = slots;
  return fresh;
}

void unmap_arena(arena* dead) noexcept {
  if (stacks_are_watched()) {
    std::uint32_t const carved = dead->carved.load(relaxed);  // relaxed: no thread carves slots of a dead arena
    for (std::uint32_t slot = 0; slot < carved; ++slot) {
      if (!dead->is_cold(slot)) unwatch_stack(*dead->descriptor(slot));
    }
  }
  std::size_t const protections = dead->protected_guards.load(relaxed);  // relaxed for the same reason
  auto* const begin = reinterpret_cast<char*>(dead);
  if (os::unmap(begin, static_cast<std::size_t>(dead->end - begin)) == 0) protections_unmapped(protections);
}

stack* make_stack(arena& owner, std::uint32_t slot, std::size_t size) noexcept {
  stack* const place = owner.descriptor(slot);
  auto* const fresh = ::new (place) stack{.low = owner.slot_low(slot),
                                          .top = reinterpret_cast<char*>(place),
                                          .size = size,
                                          .next = nullptr,
                                          .goroutine_id = 0,
                                          .creation_site = nullptr,
                                          .sanitizer_fiber = nullptr,
                                          .valgrind_id = 0,
                                          .slot = owner.number << arena_slot_bits | slot};
  watch_stack(*fresh);
  return fresh;
}

bool unmake_stack(arena& owner, stack* idle) noexcept {
  stack const was = *idle;
  std::uint32_t const slot = slot_of(was);
  unwatch_stack(*idle);
  if (os::give_back(was.low, static_cast<std::size_t>(owner.slot_end(slot) - was.low)) == 0) return true;
  (void)make_stack(owner, slot, was.size);
  return false;
}

}  // namespace thrum::rt
