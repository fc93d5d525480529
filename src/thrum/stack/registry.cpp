#include "stack/registry.h"

#include "base/atomic.h"
#include "base/check.h"
#include "os/lock.h"
#include "os/memory.h"

#include <array>

namespace thrum::rt {
namespace {

static_assert(registry_chunk_entries * registry_chunks == 1U << (32 - arena_slot_bits));

// A chunk is new memory from the kernel. It is all zero, and a zero entry is a free one.
struct entry {
  atomic<arena*> owner;  // also the arena's lowest address; nullptr: the entry is free
  atomic<char*> end;
};

constinit os::lock registry_lock{lock_rank::leaf};
// written under registry_lock, read by lookups
constinit std::array<atomic<entry*>, registry_chunks> chunks{};
constinit atomic<std::uint32_t> numbers_used{0};  // no entry with this number or a higher one has ever been used
// under registry_lock
constinit std::uint32_t first_free = 0;  // no entry with a lower number is free

entry* entry_at(std::uint32_t number) noexcept {
  // pairs with entry_or_chunk's release: the chunk is mapped
  entry* const chunk = chunks[number / registry_chunk_entries].load(acquire);
  return chunk == nullptr ? nullptr : chunk + number % registry_chunk_entries;
}

entry* entry_or_chunk(std::uint32_t number) noexcept {
  if (entry* const there = entry_at(number)) return there;
  os::mapping const fresh = os::map(registry_chunk_entries * sizeof(entry));
  if (fresh.address == nullptr) return nullptr;
  // pairs with entry_at's acquire
  chunks[number / registry_chunk_entries].store(reinterpret_cast<entry*>(fresh.address), release);
  return entry_at(number);
}

// Gives the arena its number. Returns false if all numbers are in use or a new chunk cannot be mapped.
bool register_arena(arena* fresh) noexcept {
  os::lock_guard const guard(registry_lock);
  for (std::uint32_t number = first_free; number < registry_chunk_entries * registry_chunks; ++number) {
    entry* const place = entry_or_chunk(number);
    if (place == nullptr) return false;
    if (place->owner.load(relaxed) != nullptr) continue;  // relaxed: entries are written under registry_lock
    fresh->number = number;
    first_free = number + 1;
    place->end.store(fresh->end, relaxed);
    // pairs with the lookup's acquire: a reader that finds the arena also sees `end` and the arena's record
    place->owner.store(fresh, release);
    // pairs with arena_by_address's acquire
    if (number >= numbers_used.load(relaxed)) numbers_used.store(number + 1, release);
    return true;
  }
  return false;
}

void unregister_arena(arena* dead) noexcept {
  os::lock_guard const guard(registry_lock);
  entry* const place = entry_at(dead->number);
  THRUM_CHECK(place != nullptr && place->owner.load(relaxed) == dead);
  place->owner.store(nullptr, relaxed);  // relaxed: a lookup that finds the old value rejects the unreadable record
  if (dead->number < first_free) first_free = dead->number;
}

}  // namespace

arena* create_arena(slot_geometry geometry, std::uint32_t slots) noexcept {
  arena* const fresh = map_arena(geometry, slots);
  if (fresh == nullptr || register_arena(fresh)) return fresh;
  unmap_arena(fresh);
  return nullptr;
}

void destroy_arena(arena* dead) noexcept {
  unregister_arena(dead);
  unmap_arena(dead);
}

arena* arena_by_number(std::uint32_t number) noexcept {
  entry const* const place = entry_at(number);
  return place == nullptr ? nullptr : place->owner.load(acquire);  // pairs with register_arena's release
}

arena& arena_of(stack const& one) noexcept {
  arena* const owner = arena_by_number(one.slot >> arena_slot_bits);
  THRUM_CHECK(owner != nullptr);
  return *owner;
}

arena* arena_by_address(char const* address) noexcept {
  std::uint32_t const used = numbers_used.load(acquire);  // pairs with register_arena's release
  for (std::uint32_t number = 0; number < used; ++number) {
    entry const* const place = entry_at(number);
    arena* const owner = place->owner.load(acquire);  // pairs with register_arena's release
    auto const* const begin = reinterpret_cast<char const*>(owner);
    if (owner == nullptr || address < begin || address >= place->end.load(relaxed)) continue;
    if (os::readable(begin) && owner->number == number && address < owner->end) return owner;
  }
  return nullptr;
}

stack_bounds bounds_by_address(char const* address) noexcept {
  arena const* const owner = arena_by_address(address);
  if (owner == nullptr || address < owner->first_slot) return {};
  auto const slot =
      static_cast<std::uint32_t>(static_cast<std::size_t>(address - owner->first_slot) / owner->geometry.stride);
  return {owner->slot_low(slot), reinterpret_cast<char*>(owner->descriptor(slot))};
}

// The goroutine's number is written without synchronisation, so the sanitizer must not look.
THRUM_NO_TSAN std::uint64_t goroutine_by_address(char const* address) noexcept {
  arena const* const owner = arena_by_address(address);
  if (owner == nullptr || address < owner->first_slot) return 0;
  auto const slot =
      static_cast<std::uint32_t>(static_cast<std::size_t>(address - owner->first_slot) / owner->geometry.stride);
  if (slot >= owner->carved.load(relaxed)) return 0;  // relaxed: a hint
  return const_cast<std::uint64_t const volatile&>(owner->descriptor(slot)->goroutine_id);
}

}  // namespace thrum::rt
