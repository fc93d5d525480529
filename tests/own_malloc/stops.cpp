// T03: beside a malloc of the program's own, loops are stopped at the end of a run if the program asks for it.
#include "own_malloc.h"
#include <thrum/thrum.h>

#include <atomic>

namespace {

std::atomic<long> rounds{0};

bool goes_on_after_the_run(thrum::options chosen) {
  chosen.max_procs = 2;
  thrum::run(
      [] {
        long const before = rounds;
        thrum::go([] {
          for (;;) rounds.fetch_add(1, std::memory_order_relaxed);
        });
        while (rounds == before) thrum::yield();
      },
      chosen);
  long const at_the_end = rounds;
  for (int i = 0; i < 100 && rounds == at_the_end; ++i) ::usleep(1'000);
  return rounds != at_the_end;
}

}  // namespace

extern "C" void* malloc(std::size_t bytes) noexcept {
  ::pthread_mutex_lock(&own_malloc::lock);
  void* const got = __libc_malloc(bytes);
  ::pthread_mutex_unlock(&own_malloc::lock);
  return got;
}

extern "C" void free(void* gone) noexcept {
  ::pthread_mutex_lock(&own_malloc::lock);
  __libc_free(gone);
  ::pthread_mutex_unlock(&own_malloc::lock);
}

int main() {
  thrum::options stops;
  stops.stop_beside_own_malloc = true;
  if (goes_on_after_the_run(stops)) own_malloc::fail("a loop goes on after the run\n");
  if (!goes_on_after_the_run({})) own_malloc::fail("a loop was stopped that may be inside malloc\n");
  ::_exit(0);
}
