#include "posix/plain.h"

#include "base/platform.h"

#include <cstdlib>
#include <cstring>

#include <dlfcn.h>
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace thrum::posix {
namespace {

// A sanitizer's own wrapper knows what the call means for its reports; where it is part of the program it is not "next".
void* wrapper_of_sanitizer(char const* name) noexcept {
  constexpr char prefix[] = "__interceptor_";
  char full[64];
  std::size_t const bytes = std::strlen(name);
  if (sizeof prefix + bytes > sizeof full) return nullptr;
  std::memcpy(full, prefix, sizeof prefix - 1);
  std::memcpy(full + sizeof prefix - 1, name, bytes + 1);
  return ::dlsym(RTLD_DEFAULT, full);
}

}  // namespace

void* find_plain(char const* name) noexcept {
  int const errno_before = errno;
  void* found = nullptr;
  if constexpr (rt::with_asan || rt::with_tsan) found = wrapper_of_sanitizer(name);
  if (found == nullptr) found = ::dlsym(RTLD_NEXT, name);
  if (found == nullptr) {
    constexpr char text[] = "thrum: thrum::posix does not find the C library's own function: ";
    // Not by write, which is perhaps the one that is missing.
    static_cast<void>(::syscall(SYS_write, 2, text, sizeof text - 1));
    static_cast<void>(::syscall(SYS_write, 2, name, std::strlen(name)));
    static_cast<void>(::syscall(SYS_write, 2, "\n", 1));
    std::abort();
  }
  errno = errno_before;
  return found;
}

}  // namespace thrum::posix
