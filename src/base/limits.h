// Every bound of the runtime in one place, with its origin.
#pragma once

#include <cstddef>
#include <cstdint>

namespace thrum::rt {

inline constexpr int procs_max = 1024;  // more than any machine we know of; Go's own TestBigGOMAXPROCS asks for 1024
inline constexpr int threads_max_default = 10'000;  // Go's limit of Ms

inline constexpr std::uint32_t ring_capacity_max = 256;  // Go's run queue
inline constexpr std::uint32_t ring_capacity_min = 4;    // the smallest ring on which overflow can still be seen

inline constexpr std::uint32_t global_tick = 61;  // Go's value: prime, so that it does not beat with user loops
inline constexpr int steal_rounds = 4;            // Go's value; runnext is only taken in the last

inline constexpr std::uint32_t free_g_cache_max = 64;  // Go's gfput: above this, half goes to the global list
inline constexpr std::uint32_t sudog_cache_max = 128;  // Go's sudog cache of a P
inline constexpr std::uint32_t stack_cache_max = 32;   // stacks kept by a P: one page each when idle

inline constexpr std::size_t stack_size_min = 16 * 1024;
inline constexpr std::size_t stack_size_max = 1024UL * 1024 * 1024;  // Go's limit on 64-bit machines
inline constexpr std::size_t stack_size_default = 256 * 1024;
// A frame of 64 KiB would jump over a single page. Larger frames are stopped here only in code that was compiled with
// -fstack-clash-protection, or found when their goroutine parks. A guard of 1 MiB would stop more of them, but a goroutine would take
// three times as many page tables (one for each 2 MiB of address space) and twice as long to get its first stack.
inline constexpr std::size_t stack_guard_bytes = 128 * 1024;
inline constexpr std::size_t stack_join_reserve_bytes = 64 * 1024;  // room below a full stack for joining in place

inline constexpr std::size_t stack_trim_keep_bytes = 8 * 1024;  // of a free stack's pages: what most goroutines need

inline constexpr std::int64_t starvation_threshold_ns = 1'000'000;  // Go's mutex turns fair after 1 ms

}  // namespace thrum::rt
