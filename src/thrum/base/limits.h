// The bounds of the runtime, each with its origin. Numbers that only make it faster are in base/heuristics.h.
#pragma once

#include <cstddef>
#include <cstdint>

namespace thrum::rt {

inline constexpr int procs_max = 1024;  // more than known machines have; Go's TestBigGOMAXPROCS asks for 1024
inline constexpr int threads_max_default = 10'000;  // Go's limit of Ms

inline constexpr std::uint32_t run_queue_capacity_max = 256;  // Go's run queue
inline constexpr std::uint32_t run_queue_capacity_min =
    4;  // the smallest run queue in which a test can see an overflow

inline constexpr std::size_t stack_size_min = 16 * 1024;
inline constexpr std::size_t stack_size_max = 1024UL * 1024 * 1024;  // Go's limit on 64-bit machines
inline constexpr std::size_t stack_size_default = 256 * 1024;
// 128 KiB, because a frame of 64 KiB would jump over a guard of one page. A frame that is larger than this guard is
// stopped only in code that was compiled with -fstack-clash-protection; otherwise it is found when its goroutine parks.
// A guard of 1 MiB would stop more frames, but a goroutine would need three times as many page tables (one for each 2
// MiB of address space) and twice as long to get its first stack.
inline constexpr std::size_t stack_guard_bytes = 128 * 1024;
inline constexpr std::size_t stack_join_reserve_bytes = 64 * 1024;  // extra bytes of each stack for joining in place

// What a free stack keeps when it is trimmed: as much as most goroutines need.
inline constexpr std::size_t stack_trim_keep_bytes = 8 * 1024;

}  // namespace thrum::rt
