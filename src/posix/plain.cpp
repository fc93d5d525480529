#include "posix/plain.h"

#include "base/platform.h"
#include "os/shared_library.h"

#include <cstdlib>
#include <cstring>

#include <dlfcn.h>
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace thrum::posix {
namespace {

// A sanitizer's wrapper of the function, if there is one. The sanitizer needs to see the call for its reports. If its
// runtime is part of the program, RTLD_NEXT does not find the wrapper.
[[maybe_unused]] void* wrapper_of_sanitizer(char const* name) noexcept {
  constexpr char prefix[] = "__interceptor_";
  char full[64];
  std::size_t const bytes = std::strlen(name);
  if (sizeof prefix + bytes > sizeof full) return nullptr;
  std::memcpy(full, prefix, sizeof prefix - 1);
  std::memcpy(full + sizeof prefix - 1, name, bytes + 1);
  return ::dlsym(RTLD_DEFAULT, full);
}

// Uses the system call directly, because `write` may be the function that is missing.
void say(char const* text) noexcept { static_cast<void>(::syscall(SYS_write, 2, text, std::strlen(text))); }

// Runs before the program's constructors, because these may start threads and child processes.
[[gnu::constructor(101)]] void find_all_early() {
  using namespace plain;
  if (rt::os::program_is_static()) {
    say("thrum: thrum::posix cannot work in a statically linked program, because it replaces functions of a shared "
        "C library. Link the program without -static, or without thrum::posix.\n");
    std::abort();
  }
  plain_function* const all[] = {&read,
                                 &write,
                                 &readv,
                                 &writev,
                                 &recv,
                                 &recvfrom,
                                 &recvmsg,
                                 &recvmmsg,
                                 &send,
                                 &sendto,
                                 &sendmsg,
                                 &sendmmsg,
                                 &accept,
                                 &accept4,
                                 &connect,
                                 &poll,
                                 &ppoll,
                                 &select,
                                 &pselect,
                                 &epoll_wait,
                                 &epoll_pwait,
                                 &epoll_pwait2,
                                 &sleep,
                                 &usleep,
                                 &nanosleep,
                                 &clock_nanosleep,
                                 &thrd_sleep,
                                 &getaddrinfo,
                                 &getnameinfo,
                                 &gethostbyname,
                                 &gethostbyname2,
                                 &gethostbyaddr,
                                 &gethostbyname_r,
                                 &gethostbyname2_r,
                                 &gethostbyaddr_r,
                                 &close,
                                 &dup2,
                                 &dup3,
                                 &close_range,
                                 &closefrom};
  for (plain_function* const each : all) each->find_early();
}

}  // namespace

void* next_after_posix(char const* name) noexcept {
  void* const found = ::dlsym(RTLD_NEXT, name);
  seen_from_here(found);
  return found;
}

void plain_function::find_early() noexcept {
  int const errno_before = errno;
  void* found = nullptr;
  if constexpr (rt::with_asan || rt::with_tsan) found = wrapper_of_sanitizer(name_);
  if (found == nullptr) found = next_(name_);
  if (found != nullptr) found_.store(found, rt::relaxed);
  errno = errno_before;
}

void* plain_function::find() noexcept {
  find_early();
  void* const found = found_.load(rt::relaxed);
  if (found == nullptr) {
    say("thrum: thrum::posix cannot find this function in the C library: ");
    say(name_);
    say("\n");
    std::abort();
  }
  return found;
}

}  // namespace thrum::posix
