#include "os/unknown_child.h"

#include "base/check.h"
#include "os/memory.h"

#include <cstddef>
#include <new>

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

namespace thrum::rt::os {

constinit atomic<atomic<std::uint32_t>*> unknown_child::sign{nullptr};

namespace {

// Kept for the next run. Written by the thread that begins a run; one run begins at a time.
atomic<std::uint32_t>* page = nullptr;
int process = 0;  // in which the run is alive

// Without map() and its faults: a run does without this page.
atomic<std::uint32_t>* map_page() noexcept {
  constexpr int wipe_on_fork = 18;  // MADV_WIPEONFORK
  int const errno_before = errno;
  std::size_t const bytes = page_size();
  void* const made = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  atomic<std::uint32_t>* result = nullptr;
  if (made != MAP_FAILED && ::madvise(made, bytes, wipe_on_fork) == 0) {
    result = ::new (made) atomic<std::uint32_t>(0);
  } else if (made != MAP_FAILED) {
    ::munmap(made, bytes);
  }
  errno = errno_before;
  return result;
}

}  // namespace

void begin_to_recognise_children() noexcept {
  if (page == nullptr) page = map_page();
  if (page == nullptr) return;
  process = ::getpid();
  page->store(1, relaxed);
  unknown_child::sign.store(page, release);  // pairs with end_if_unknown_child
}

void cease_to_recognise_children() noexcept { unknown_child::sign.store(nullptr, relaxed); }

void unknown_child::end() noexcept {
  if (::getpid() == process) {  // a snapshot of the process was restored, and had been taken by means of a fork
    page->store(1, relaxed);
    return;
  }
  cease_to_recognise_children();  // the report may sleep
  fatal(
      "this process was made inside run() by _Fork or clone, and the scheduler's threads do not exist in it. It can "
      "only call exec or _exit. Use fork, after which thrum throws where it cannot go on, or thrum::process");
}

}  // namespace thrum::rt::os
