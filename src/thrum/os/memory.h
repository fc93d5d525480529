// Pages of memory: reserving, guarding and giving them back.
//
// Every function that can fail returns 0 or the errno; a `mapping` has the errno beside the address. Nothing here
// allocates or takes a lock of the process. But the kernel holds its own mmap lock for long if the range is large, so
// do not call these functions under a contended lock of the runtime. Addresses and sizes are multiples of page_size()
// unless a comment says otherwise.
#pragma once

#include <cstddef>

namespace thrum::rt::os {

struct mapping {
  char* address;  // nullptr on failure
  int error;      // 0 on success
};

// Maps address space for stacks: readable and writable, private, not counted as committed (MAP_NORESERVE), not touched.
[[nodiscard]] mapping reserve(std::size_t bytes) noexcept;

// The same for a process whose new memory is locked (memory_is_locked_for_future). In such a process, the kernel would
// fill all pages of reserve() at once (T10). So the range is first mapped without access, then locked on fault, and
// then made accessible; in any other order the kernel would fill the pages. EAGAIN or ENOMEM means that RLIMIT_MEMLOCK
// is exceeded, which counts locked address space whether it was touched or not.
[[nodiscard]] mapping reserve_on_fault(std::size_t bytes) noexcept;

// Ordinary memory for slabs.
[[nodiscard]] mapping map(std::size_t bytes) noexcept;

// Makes memory of map() larger. The kernel moves the pages to another address if necessary, and copies nothing, so this
// takes some ten microseconds for 16 MiB. On failure the memory stays as it was.
[[nodiscard]] mapping enlarge(char* address, std::size_t bytes, std::size_t new_bytes) noexcept;

int unmap(char* address, std::size_t bytes) noexcept;

// Makes the kernel use no huge pages there, so that touching one page costs the memory of one page.
int advise_no_huge_pages(char* address, std::size_t bytes) noexcept;

// Gives the pages back to the kernel. They read as zero afterwards. EINVAL if the memory is locked.
int give_back(char* address, std::size_t bytes) noexcept;

// Guards that do not split the mapping (Linux 6.13). EINVAL on older kernels and on locked memory. An emulator may
// return 0 and do nothing, so rely on it only after readable() has returned false once.
int guard_install(char* address, std::size_t bytes) noexcept;
int guard_remove(char* address, std::size_t bytes) noexcept;

// Guards for older kernels and locked memory. Each one splits the mapping, and max_map_count() limits the number of
// mappings (ENOMEM).
int protect_none(char* address, std::size_t bytes) noexcept;
int protect_read_write(char* address, std::size_t bytes) noexcept;

[[nodiscard]] std::size_t page_size() noexcept;

// Whether a load from `address` (any alignment) would succeed. The kernel tries it. Returns true if the kernel gives no
// usable answer, because a guard that is not proven does not count as one. Async-signal-safe.
[[nodiscard]] bool readable(char const* address) noexcept;

// The value of /proc/sys/vm/max_map_count, or 65530, the kernel's default, if it cannot be read.
[[nodiscard]] std::size_t max_map_count() noexcept;

// The resident memory of the process, or 0 if it cannot be read. It is exact if smaps_rollup exists. That makes the
// kernel walk the page tables, so it is for tests and reports and not for a loop. Otherwise it comes from statm, which
// lags by some pages per CPU.
[[nodiscard]] std::size_t resident_bytes() noexcept;

// Makes the kernel lock each page when it is touched and not earlier (mlock2 with MLOCK_ONFAULT). If
// mlockall(MCL_FUTURE) locked the memory, this also makes the kernel stop filling it in advance. ENOSYS means an
// emulator without mlock2.
int lock_on_fault(char* address, std::size_t bytes) noexcept;

// Whether new mappings are locked (mlockall with MCL_FUTURE, with or without MCL_ONFAULT). It finds out by making a
// mapping: the kernel refuses MADV_DONTNEED on locked memory, and EAGAIN from mmap means that the lock limit is
// reached. The result is the state at the time of the call, and a later mlockall changes it. If the process can map
// nothing at all (ENOMEM), the state is unknown and the result is false.
[[nodiscard]] bool memory_is_locked_for_future() noexcept;

}  // namespace thrum::rt::os
