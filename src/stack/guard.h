// How the low end of a stack is guarded, and what happens when that cannot be had.
//
//  1. Guard markers (MADV_GUARD_INSTALL, Linux 6.13): they live in the page table, split no mapping and cost
//     nothing to a million stacks. The first success in a process is not believed but tried: qemu-user
//     answers 0 and does nothing. Older kernels and locked memory (mlockall) refuse them. Then, stack by
//     stack:
//  2. mprotect: two more memory mappings per guard. vm.max_map_count bounds them per process, and a program
//     that has none left can neither map a file nor start a thread, so guards take at most half.
//  3. None. The pool says so on standard error, once, with the remedy, and counts them. Refusing to create
//     goroutines would be worse: most of them never come near the end of their stack.
//
// A refusal is not remembered, since memory that is locked now may be unlocked later; asking again costs a
// tenth of the mprotect that follows.
//
// No locks: the account of mappings is one atomic of the process, as the kernel's limit is. Runs on g0 or a
// G.
#pragma once

#include <cstddef>
#include <cstdint>

namespace thrum::rt {

enum class guard_kind : std::uint8_t { marker, protection, none };

// What a pool may use. The default is the policy above; tests force the older kernels' way and a small
// budget.
struct guard_policy {
  enum class ways : std::uint8_t { all, protection_only } allowed = ways::all;
  std::size_t mappings_max = 0;  // what mprotect may use up in this process; 0: half of vm.max_map_count
};

struct guard_result {
  guard_kind kind;
  int error;  // for `none`: what mprotect answered; 0 when it was not asked because the budget is used up
};

// Makes [address, address + bytes) inaccessible as the policy allows.
[[nodiscard]] guard_result install_guard(guard_policy const& policy, char* address, std::size_t bytes) noexcept;

// Settles the account when memory is unmapped that held `count` guards of kind `protection`.
void protections_unmapped(std::size_t count) noexcept;

// Says on standard error that stacks go unguarded from now on, why, and what helps.
void announce_unguarded(guard_policy const& policy, int error) noexcept;

}  // namespace thrum::rt
