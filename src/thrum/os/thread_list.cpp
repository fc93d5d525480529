#include "os/thread_list.h"

#include "os/fault.h"
#include "os/text_file.h"
#include "os/uring.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <dirent.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace thrum::rt::os {
namespace {

// Whether it is a worker thread of the kernel for io_uring (os/uring.h), which runs no code of this process.
bool is_kernels_own(char const* tid) noexcept {
  char path[64];
  char name[16];
  std::snprintf(path, sizeof path, "/proc/self/task/%.20s/comm", tid);
  return read_text_file(path, name, sizeof name) > 0 && std::strncmp(name, "iou-", 4) == 0;
}

int visit_entries(int directory, int enough, void (*visit)(int tid, void* argument) noexcept, void* argument) noexcept {
  alignas(dirent64) char buffer[4096];
  int count = 0;
  while (count <= enough) {
    int error = 0;
    if (should_fail(call::read, error)) return -1;
    long const got = ::syscall(SYS_getdents64, directory, buffer, sizeof buffer);
    if (got < 0) return -1;
    if (got == 0) return count;
    for (long at = 0; at < got;) {
      auto const* const entry = reinterpret_cast<dirent64 const*>(buffer + at);
      if (entry->d_name[0] != '.' && !(uring_was_used() && is_kernels_own(entry->d_name))) {
        ++count;
        visit(std::atoi(entry->d_name), argument);
      }
      at += entry->d_reclen;
    }
  }
  return count;
}

}  // namespace

int visit_process_threads(int enough, void (*visit)(int tid, void* argument) noexcept, void* argument) noexcept {
  int const directory = open_for_reading("/proc/self/task");
  if (directory < 0) return -1;
  int const count = visit_entries(directory, enough, visit, argument);
  close_descriptor(directory);
  return count;
}

int list_process_threads(int* tids, int max) noexcept {
  struct list {
    int* tids;
    int max;
    int count;
  } noted{tids, max, 0};
  auto const note = [](int tid, void* argument) noexcept {
    auto& to = *static_cast<list*>(argument);
    if (to.count < to.max) to.tids[to.count++] = tid;
  };
  return visit_process_threads(max - 1, note, &noted) < 0 ? -1 : noted.count;
}

}  // namespace thrum::rt::os
