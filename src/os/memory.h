// Pages: reserving, guarding, giving back.
//
// Every function that can fail answers 0 or the errno; mappings carry it beside the address. Nothing here
// allocates or takes a lock (but the kernel's own mmap lock is long for large ranges: not under a contended
// runtime lock). Addresses and sizes are multiples of page_size() unless said otherwise.
#pragma once

#include <cstddef>

namespace thrum::rt::os {

struct mapping {
  char* address;  // nullptr on failure
  int error;      // 0 on success
};

// Address space for stacks: readable and writable, private, not accounted (MAP_NORESERVE), untouched.
[[nodiscard]] mapping reserve(std::size_t bytes) noexcept;

// The same for a process whose new memory comes locked (memory_is_locked_for_future): there the kernel would
// fill all of reserve() at once (T10). Mapped without access first, then locked on fault, then opened: in any
// other order the pages are there before they can be declined. EAGAIN or ENOMEM: past RLIMIT_MEMLOCK, which
// counts locked address space, touched or not.
[[nodiscard]] mapping reserve_on_fault(std::size_t bytes) noexcept;

// Ordinary memory for slabs.
[[nodiscard]] mapping map(std::size_t bytes) noexcept;

int unmap(char* address, std::size_t bytes) noexcept;

// One touched page stays one page.
int advise_no_huge_pages(char* address, std::size_t bytes) noexcept;

// The pages go back to the system and read as zero afterwards. EINVAL when the memory is locked.
int give_back(char* address, std::size_t bytes) noexcept;

// Guards without splitting the mapping (Linux 6.13). EINVAL on older kernels and on locked memory. An
// emulator may answer 0 and do nothing: believe it only after readable() said false once.
int guard_install(char* address, std::size_t bytes) noexcept;
int guard_remove(char* address, std::size_t bytes) noexcept;

// Guards for everybody else: each splits the mapping, and max_map_count() bounds the pieces (ENOMEM).
int protect_none(char* address, std::size_t bytes) noexcept;
int protect_read_write(char* address, std::size_t bytes) noexcept;

[[nodiscard]] std::size_t page_size() noexcept;

// Whether a load from `address` (any alignment) would succeed, asked of the kernel, which tries it. When the
// kernel gives no usable answer it is true: a guard that is not proven is no guard. Async-signal-safe.
[[nodiscard]] bool readable(char const* address) noexcept;

// /proc/sys/vm/max_map_count; 65530, the kernel's default, when it cannot be read.
[[nodiscard]] std::size_t max_map_count() noexcept;

// Resident memory of the process; 0 when it cannot be read. Exact where smaps_rollup exists (a page table
// walk: for tests, reports and the tour, not for a loop), else from statm, which lags by some pages per CPU.
[[nodiscard]] std::size_t resident_bytes() noexcept;

// Locks pages as they are touched and not before (mlock2 with MLOCK_ONFAULT). Also turns memory that
// mlockall(MCL_FUTURE) locked into memory that is no longer filled ahead. ENOSYS: an emulator without mlock2.
int lock_on_fault(char* address, std::size_t bytes) noexcept;

// Whether new mappings come locked (mlockall with MCL_FUTURE, with or without MCL_ONFAULT), found by making
// one: the kernel refuses MADV_DONTNEED on locked memory and EAGAIN from mmap means the lock limit. This is
// the state at the time of asking; that the program will call mlockall later cannot be known, nor, when the
// process may map nothing at all (ENOMEM), the state: then it answers false.
[[nodiscard]] bool memory_is_locked_for_future() noexcept;

}  // namespace thrum::rt::os
