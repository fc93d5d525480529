// Every stack of one runtime: arenas of equal slots, and the free lists.
//
// Slots are carved from an arena in order, when needed; a stack that comes back lies on the free list of its
// size class (stack/free_stacks.h). What lay there for a while is trimmed: it loses the depth that it once had
// and moves to a second list. What lay idle for long loses all its memory.
//
// Stacks of the default size pass through the Ps' caches (stack/stack_cache.h) in batches; all other sizes
// come here one by one and share arenas and free list with their neighbours up to the next power of two.
//
// Under the lock, rank stack_pool: lists and slot numbers, and mapping an arena. Never under it: guards and
// the first touch of a page, which are the expensive part, and words on standard error. May be called on g0,
// a G or sysmon, from every thread. No failure is fatal: no memory is nullptr, and the goroutine waits until
// a stack comes back.
#pragma once

#include "base/atomic.h"
#include "base/limits.h"
#include "os/lock.h"
#include "stack/arena.h"
#include "stack/free_stacks.h"
#include "stack/guard.h"
#include "stack/stack.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace thrum::rt {

struct stack_stats {
  std::size_t arenas = 0;
  std::size_t bytes_reserved = 0;       // address space, not memory
  std::size_t carved = 0;               // slots that have been a stack: in_use + free + given_back
  std::size_t in_use = 0;               // handed out: to goroutines and to the Ps' caches
  std::size_t free = 0;                 // on the pool's free lists, with at least one page each
  std::size_t untrimmed = 0;            // of these, perhaps with all the pages that goroutines have touched
  std::size_t given_back = 0;           // idle, without memory
  std::size_t guarded = 0;              // of the carved ones
  std::size_t unguarded = 0;            // likewise; guard.h says when
  std::size_t guarded_by_mprotect = 0;  // of the guarded ones: two memory mappings each
};

class stack_pool {
 public:
  // default_size and every size below are brought within [stack_size_min, stack_size_max].
  explicit stack_pool(std::size_t default_size, guard_policy policy = {}) noexcept;
  ~stack_pool();  // unmaps everything: nothing may run on any of its stacks
  stack_pool(stack_pool const&) = delete;
  stack_pool& operator=(stack_pool const&) = delete;

  // One stack with room for `size` bytes, or nullptr when no memory can be had.
  [[nodiscard]] stack* allocate(std::size_t size) noexcept;
  // The same, if it can be had without asking the system for anything.
  [[nodiscard]] stack* take_recycled(std::size_t size) noexcept;
  void release(stack* one) noexcept;

  // Default-size stacks, linked by next. `count` says how many are wanted, and afterwards how many there are.
  // Recycled ones go first; only when there is none are new ones carved, a few, since each costs a page that
  // may never be used.
  [[nodiscard]] stack* allocate_batch(std::uint32_t& count) noexcept;
  void release_batch(stack* list, std::uint32_t count) noexcept;

  // Stacks that lay here unused since the previous call are to be trimmed: they keep stack_trim_keep_bytes at most. They still serve
  // meanwhile. To be called by one thread (sysmon), and trim() by the same.
  void begin_trim() noexcept;
  // Trims at most so many of them, a microsecond each and more if they were deep; answers how many it were.
  std::size_t trim(std::size_t at_most) noexcept;

  // Ends an interval: stacks that lay here unused since the previous call are condemned to lose their memory.
  // They still serve when there is no other. To be called by one thread (sysmon), at once in any case.
  void condemn_idle() noexcept;

  // Gives the memory of at most so many condemned stacks back, some microseconds each; answers how many it
  // were. The next user of such a stack finds zeroed pages, and the guard in its place.
  std::size_t give_back(std::size_t at_most) noexcept;

  // Both, without a bound.
  std::size_t scavenge() noexcept;

  // Instead of destruction: some goroutines were left behind on their stacks. All memory stays mapped for
  // good, and their overflows are still reported. The pool is empty afterwards and may be destroyed.
  void abandon() noexcept;

  [[nodiscard]] std::size_t default_size() const noexcept { return default_size_; }
  [[nodiscard]] stack_stats stats() noexcept;

 private:
  // The default size, then one class per power of two.
  static constexpr std::size_t classes = 18;
  static_assert(stack_size_min << (classes - 2) == stack_size_max);

  struct queue {  // of stacks that something is about to be done to
    stack* first = nullptr;
    std::size_t count = 0;
    [[nodiscard]] stack* pop() noexcept;
    void put(free_stacks::part front, free_stacks::part rest = {}) noexcept;  // the queue is empty
  };
  struct size_class {
    slot_geometry geometry;
    free_stacks free;              // as they came back
    queue to_trim;                 // not used for a while
    free_stacks trimmed;           // and done
    queue condemned;               // not used for long
    std::size_t cold = 0;          // slots whose memory was given back
    arena* cold_arena = nullptr;   // where to look for one first
    arena* arenas = nullptr;       // newest first; only the newest has slots to carve
    std::uint32_t next_slots = 0;  // of the arena that comes next: twice as many each time
  };
  struct claim {
    arena* home;
    std::uint32_t slot;
    enum class origin : bool { fresh, cold } from;
  };

  size_class& class_of(std::size_t size) noexcept;
  stack* pop_free(size_class& sizes) noexcept;
  bool claim_slot(size_class& sizes, claim& got) noexcept;
  claim claim_cold(size_class& sizes) noexcept;
  bool grow(size_class& sizes) noexcept;
  stack* prepare(claim const& claimed, std::size_t size) noexcept;
  void guard(arena& home, std::uint32_t slot) noexcept;
  std::size_t give_back(size_class& sizes, std::size_t at_most) noexcept;

  std::size_t const default_size_;
  guard_policy const policy_;

  os::lock lock_{lock_rank::stack_pool};
  // under lock_
  std::array<size_class, classes> classes_;

  // relaxed: counted outside the lock, statistics only
  atomic<std::size_t> guarded_{0};
  atomic<std::size_t> unguarded_{0};
  atomic<std::size_t> protections_{0};
};

}  // namespace thrum::rt
