// All stacks of one runtime: arenas of equal slots, and the free lists.
//
// Slots are carved from an arena in order, when they are needed. A stack that is released goes to the free list of its
// size class (stack/free_stacks.h). A stack that was unused for a while is trimmed, which means that it loses all but
// its top pages, and moves to a second list. A stack that was unused for long loses all its memory.
//
// Stacks of the default size pass through the Ps' caches (stack/stack_cache.h) in batches. Stacks of other sizes come
// and go one by one. There is one size class per power of two, and the sizes of a class share arenas and free lists.
//
// The lock, of rank stack_pool, protects the lists and the slot numbers, and is held while an arena is mapped. It is
// not held while guards are installed, while a page is touched first and while text is written to standard error,
// because these take long.
//
// All functions may be called by every thread, on g0, on a goroutine's stack or on sysmon. No failure is fatal: without
// memory the result is nullptr, and the goroutine waits until a stack is released.
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
  std::size_t carved = 0;               // slots that have been used: in_use + free + given_back
  std::size_t in_use = 0;               // handed out to goroutines and to the Ps' caches
  std::size_t free = 0;                 // on the pool's free lists, with at least one page each
  std::size_t untrimmed = 0;            // those of `free` that may have all the pages that goroutines have touched
  std::size_t given_back = 0;           // unused slots without memory
  std::size_t guarded = 0;              // carved slots that have a guard
  std::size_t unguarded = 0;            // carved slots that have none; guard.h says when
  std::size_t guarded_by_mprotect = 0;  // those of `guarded` that use two memory mappings each
};

class stack_pool {
 public:
  // The default size, then one class per power of two.
  static constexpr std::size_t classes = 18;
  static_assert(stack_size_min << (classes - 2) == stack_size_max);

  // default_size and the size arguments of all functions are clamped to [stack_size_min, stack_size_max].
  explicit stack_pool(std::size_t default_size, guard_policy policy = {}) noexcept;
  ~stack_pool();  // unmaps everything, so no goroutine may run on any of its stacks
  stack_pool(stack_pool const&) = delete;
  stack_pool& operator=(stack_pool const&) = delete;

  // One stack of `size` bytes, or nullptr if there is no memory.
  [[nodiscard]] stack* allocate(std::size_t size) noexcept;
  // The size class of a stack of `size` bytes. A free stack serves every size of its class.
  [[nodiscard]] std::size_t class_number(std::size_t size) const noexcept;
  // A stack of `size` bytes from the free lists, or nullptr if they have none. Makes no system call for memory.
  [[nodiscard]] stack* take_recycled(std::size_t size) noexcept;
  void release(stack* one) noexcept;

  // Returns stacks of the default size, linked by `next`. `count` is the number that the caller wants, and is set to
  // the number that it gets. Recycled stacks are preferred. Only if there is none, up to four new ones are carved. They
  // are few because each costs a page that may never be used.
  [[nodiscard]] stack* allocate_batch(std::uint32_t& count) noexcept;
  void release_batch(stack* list, std::uint32_t count) noexcept;

  // Marks the stacks that have been unused here since the previous call as due for trimming: trim() reduces them to
  // stack_trim_keep_bytes. They can be handed out meanwhile. Only one thread (sysmon) calls begin_trim() and trim().
  void begin_trim() noexcept;
  // Trims at most `at_most` of them and returns how many it has trimmed. One takes a microsecond, or more if it was
  // deep.
  std::size_t trim(std::size_t at_most) noexcept;

  // Ends an interval: the stacks that have been unused here since the previous call are condemned, which means that
  // give_back() takes their memory. They can be handed out meanwhile if there is no other stack. Only one thread
  // (sysmon) calls it. It is short.
  void condemn_idle() noexcept;

  // Gives the memory of at most `at_most` condemned stacks back to the kernel and returns how many stacks that was.
  // Each takes some microseconds. The next user of such a slot finds zeroed pages, and the guard is in place.
  std::size_t give_back(std::size_t at_most) noexcept;

  // Calls condemn_idle() and gives the memory of all condemned stacks back.
  std::size_t scavenge() noexcept;

  // Drops all stacks without unmapping them, because goroutines were left behind on some of them. All memory stays
  // mapped until the process ends, and the overflows of these goroutines are reported. The pool is empty afterwards and
  // may be destroyed.
  void abandon() noexcept;

  [[nodiscard]] std::size_t default_size() const noexcept { return default_size_; }
  [[nodiscard]] stack_stats stats() noexcept;

 private:
  struct queue {  // stacks that wait to be trimmed or given back
    stack* first = nullptr;
    std::size_t count = 0;
    [[nodiscard]] stack* pop() noexcept;
    void put(free_stacks::part front, free_stacks::part rest = {}) noexcept;  // requires that the queue is empty
  };
  struct size_class {
    slot_geometry geometry;
    free_stacks free;              // as they were released
    queue to_trim;                 // unused for a while, to be trimmed
    free_stacks trimmed;           // trimmed
    queue condemned;               // unused for long, to lose their memory
    std::size_t cold = 0;          // number of slots whose memory was given back
    arena* cold_arena = nullptr;   // the arena in which such a slot is searched first
    arena* arenas = nullptr;       // newest first; only the newest has slots to carve
    std::uint32_t next_slots = 0;  // slots of the next arena; doubles each time, up to a limit
  };
  struct claim {
    arena* owner;
    std::uint32_t slot;
    enum class origin : bool { fresh, cold } from;
  };

  size_class& class_of(std::size_t size) noexcept { return classes_[class_number(size)]; }
  stack* pop_free(size_class& sizes) noexcept;
  bool claim_slot(size_class& sizes, claim& got) noexcept;
  claim claim_cold(size_class& sizes) noexcept;
  bool grow(size_class& sizes) noexcept;
  stack* prepare(claim const& claimed, std::size_t size) noexcept;
  void guard(arena& owner, std::uint32_t slot) noexcept;
  std::size_t give_back(size_class& sizes, std::size_t at_most) noexcept;

  std::size_t const default_size_;
  guard_policy const policy_;

  os::lock lock_{lock_rank::stack_pool};
  // under lock_
  std::array<size_class, classes> classes_;

  // written outside the lock; relaxed, because they are only statistics
  atomic<std::size_t> guarded_{0};
  atomic<std::size_t> unguarded_{0};
  atomic<std::size_t> protections_{0};
};

}  // namespace thrum::rt
