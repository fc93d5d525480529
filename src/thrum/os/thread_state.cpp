#include "os/thread_state.h"

#include "os/fault.h"
#include "os/text_file.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

#include <sys/syscall.h>
#include <unistd.h>

namespace thrum::rt::os {
namespace {

// The text is "NUMBER", six arguments, "SP PC", all but NUMBER in hexadecimal. For a thread that sleeps outside a
// system call it is "-1 SP PC".
thread_state parsed(char const* text) noexcept {
  if (text[0] == 'r') return {.activity = thread_activity::runs};
  char* rest = nullptr;
  thread_state state{.activity = thread_activity::sleeps_otherwise, .call = std::strtol(text, &rest, 10)};
  if (state.call < 0) return state;
  state.activity = thread_activity::sleeps_in_call;
  for (int argument = 0; argument < 6; ++argument) static_cast<void>(std::strtoull(rest, &rest, 16));
  state.stack_pointer = std::strtoull(rest, &rest, 16);
  state.program_counter = std::strtoull(rest, &rest, 16);
  return state;
}

}  // namespace

bool thread_state::waits_for_a_lock() const noexcept { return call == SYS_futex; }

clockid_t cpu_clock_of(int tid) noexcept {
  // The kernel's encoding of the CPU clock of a thread. libc has a function only for a pthread_t.
  constexpr unsigned of_a_thread = 4;
  constexpr unsigned as_scheduled = 2;
  return static_cast<clockid_t>((~static_cast<unsigned>(tid) << 3U) | of_a_thread | as_scheduled);
}

std::int64_t thread_cpu_ns(int tid) noexcept {
  if (tid == 0) return -1;  // the kernel would take 0 for the calling thread
  timespec used{};
  if (::clock_gettime(cpu_clock_of(tid), &used) != 0) return -1;
  return used.tv_sec * 1'000'000'000LL + used.tv_nsec;
}

bool has_computed(int tid, std::int64_t at_least_ns, std::int64_t& seen_ns) noexcept {
  std::int64_t const now_ns = thread_cpu_ns(tid);
  std::int64_t const before_ns = std::exchange(seen_ns, now_ns);
  return before_ns >= 0 && now_ns - before_ns >= at_least_ns;
}

thread_state thread_watch::look(int tid) noexcept {
  if (tid != tid_ || descriptor_ < 0) {
    close();
    char path[64];
    std::snprintf(path, sizeof path, "/proc/self/task/%d/syscall", tid);
    descriptor_ = open_for_reading(path);
    tid_ = tid;
  }
  if (descriptor_ < 0) return {};
  char text[256];
  int error = 0;
  if (should_fail(call::read, error)) return {};
  auto const length = ::pread(descriptor_, text, sizeof text - 1, 0);
  if (length <= 0) {
    close();  // the thread may have ended, and another thread may have its tid
    return {};
  }
  text[length] = '\0';
  return parsed(text);
}

void thread_watch::close() noexcept {
  if (descriptor_ >= 0) close_descriptor(descriptor_);
  descriptor_ = -1;
  tid_ = 0;
}

}  // namespace thrum::rt::os
