#include "os/memory.h"

#include "os/fault.h"
#include "os/text_file.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include <errno.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace thrum::rt::os {
namespace {

// From Linux 6.13's mman.h. Older headers do not have them, and older kernels return EINVAL for them.
constexpr int advice_guard_install = 102;
constexpr int advice_guard_remove = 103;

mapping map_with(std::size_t bytes, int protection, int more_flags) noexcept {
  int error = 0;
  if (should_fail(call::mmap, error)) return {nullptr, error};
  void* const address = ::mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | more_flags, -1, 0);
  if (address == MAP_FAILED) return {nullptr, errno};
  return {static_cast<char*>(address), 0};
}

int advise(char* address, std::size_t bytes, int advice) noexcept {
  int error = 0;
  if (should_fail(call::madvise, error)) return error;
  return ::madvise(address, bytes, advice) == 0 ? 0 : errno;
}

int protect(char* address, std::size_t bytes, int protection) noexcept {
  int error = 0;
  if (should_fail(call::mprotect, error)) return error;
  return ::mprotect(address, bytes, protection) == 0 ? 0 : errno;
}

// The number that follows `label` in a text of /proc, or 0 if there is none.
std::size_t number_after(char const* text, char const* label) noexcept {
  char const* const at = std::strstr(text, label);
  return at == nullptr ? 0 : std::strtoull(at + std::strlen(label), nullptr, 10);
}

}  // namespace

mapping reserve(std::size_t bytes) noexcept { return map_with(bytes, PROT_READ | PROT_WRITE, MAP_NORESERVE); }

mapping reserve_on_fault(std::size_t bytes) noexcept {
  mapping const reserved = map_with(bytes, PROT_NONE, MAP_NORESERVE);
  if (reserved.address == nullptr) return reserved;
  int error = lock_on_fault(reserved.address, bytes);
  if (error == 0) error = protect_read_write(reserved.address, bytes);
  if (error == 0) return reserved;
  ::munmap(reserved.address, bytes);  // not unmap(), because fault injection must not make the clean-up fail
  return {nullptr, error};
}

mapping map(std::size_t bytes) noexcept { return map_with(bytes, PROT_READ | PROT_WRITE, 0); }

mapping enlarge(char* address, std::size_t bytes, std::size_t new_bytes) noexcept {
  int error = 0;
  if (should_fail(call::mmap, error)) return {nullptr, error};
  void* const enlarged = ::mremap(address, bytes, new_bytes, MREMAP_MAYMOVE);
  if (enlarged == MAP_FAILED) return {nullptr, errno};
  return {static_cast<char*>(enlarged), 0};
}

int unmap(char* address, std::size_t bytes) noexcept {
  int error = 0;
  if (should_fail(call::munmap, error)) return error;
  return ::munmap(address, bytes) == 0 ? 0 : errno;
}

int advise_no_huge_pages(char* address, std::size_t bytes) noexcept { return advise(address, bytes, MADV_NOHUGEPAGE); }

int give_back(char* address, std::size_t bytes) noexcept { return advise(address, bytes, MADV_DONTNEED); }

int guard_install(char* address, std::size_t bytes) noexcept { return advise(address, bytes, advice_guard_install); }

int guard_remove(char* address, std::size_t bytes) noexcept { return advise(address, bytes, advice_guard_remove); }

int protect_none(char* address, std::size_t bytes) noexcept { return protect(address, bytes, PROT_NONE); }

int protect_read_write(char* address, std::size_t bytes) noexcept {
  return protect(address, bytes, PROT_READ | PROT_WRITE);
}

std::size_t page_size() noexcept { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

// A futex requeue of no waiters: the kernel loads the word, compares it, and has nothing to do in either case. A write
// into a pipe would need a descriptor, and the program may have none left. Tricks with rt_sigprocmask do not work under
// an emulator, which does not pass that call to the kernel unchanged.
bool readable(char const* address) noexcept {
  int error = 0;
  if (!should_fail(call::probe, error)) {
    int const errno_before = errno;
    auto const word = reinterpret_cast<std::uintptr_t>(address) & ~std::uintptr_t{3};  // the same page
    constexpr std::uint32_t any_value = 0;
    long const result = ::syscall(SYS_futex, word, FUTEX_CMP_REQUEUE_PRIVATE, 0, 0, word, any_value);
    error = result >= 0 ? 0 : errno;
    errno = errno_before;
  }
  return error != EFAULT;
}

std::size_t max_map_count() noexcept {
  constexpr std::size_t kernel_default = 65530;
  char text[32];
  if (read_text_file("/proc/sys/vm/max_map_count", text, sizeof text) <= 0) return kernel_default;
  std::size_t const count = std::strtoull(text, nullptr, 10);
  return count > 0 ? count : kernel_default;
}

std::size_t resident_bytes() noexcept {
  char text[1024];
  if (read_text_file("/proc/self/smaps_rollup", text, sizeof text) > 0) {
    std::size_t const kib = number_after(text, "\nRss:");
    if (kib > 0) return kib * 1024;
  }
  // statm is "size resident shared ...", in pages.
  if (read_text_file("/proc/self/statm", text, sizeof text) <= 0) return 0;
  return number_after(text, " ") * page_size();
}

int lock_on_fault(char* address, std::size_t bytes) noexcept {
  int error = 0;
  if (should_fail(call::mlock, error)) return error;
  // Not libc's function, which returns EINVAL if the kernel returns ENOSYS.
  return ::syscall(SYS_mlock2, address, bytes, MLOCK_ONFAULT) == 0 ? 0 : errno;
}

bool memory_is_locked_for_future() noexcept {
  mapping const probe = map(page_size());
  if (probe.address == nullptr) return probe.error == EAGAIN;
  int const error = give_back(probe.address, page_size());
  ::munmap(probe.address, page_size());  // not unmap(), because fault injection must not make the clean-up fail
  return error == EINVAL;
}

}  // namespace thrum::rt::os
