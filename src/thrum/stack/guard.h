// How the low end of a stack is guarded. Three ways are tried in this order, for each stack:
//
//  1. Guard markers (MADV_GUARD_INSTALL, Linux 6.13). They are in the page table and split no mapping, so they are free
//     even for a million stacks. Older kernels refuse them, and every kernel refuses them for locked memory (mlockall).
//     The first success in a process is verified by a read, because qemu-user returns 0 and does nothing.
//  2. mprotect, which takes two more memory mappings per guard. vm.max_map_count limits the mappings of a process, and
//     a process that has none left can neither map a file nor start a thread. So guards use at most half of them.
//  3. No guard. The pool says so on standard error, once, and names the remedy. It counts these stacks. Refusing to
//     create goroutines would be worse, because most goroutines never come near the end of their stack.
//
// A refusal is not remembered, because memory that is locked may be unlocked later. Asking for each stack costs a tenth
// of the mprotect that follows.
//
// No locks. The count of used mappings is one atomic of the process, because the kernel's limit is per process. Runs on
// g0 or on a goroutine's stack.
#pragma once

#include <cstddef>
#include <cstdint>

namespace thrum::rt {

enum class guard_kind : std::uint8_t { marker, protection, none };

// What a pool may use. The default is the order above. Tests use it to force mprotect and a small budget.
struct guard_policy {
  enum class ways : std::uint8_t { all, protection_only } allowed = ways::all;
  std::size_t mappings_max = 0;  // mappings that guards may use in this process; 0: half of vm.max_map_count
};

struct guard_result {
  guard_kind kind;
  int error;  // for `none`: the errno of mprotect, or 0 if mprotect was not called because the budget is used up
};

// Makes [address, address + bytes) inaccessible in the first way that the policy allows and that succeeds.
[[nodiscard]] guard_result install_guard(guard_policy const& policy, char* address, std::size_t bytes) noexcept;

// Subtracts the mappings of `count` guards of kind `protection` after their memory was unmapped.
void protections_unmapped(std::size_t count) noexcept;

// Prints on standard error that new stacks have no guard, why, and what the user can do.
void announce_unguarded(guard_policy const& policy, int error) noexcept;

}  // namespace thrum::rt
