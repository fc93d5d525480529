// T01: goroutines that allocate are paused at any moment, with the lock that a new thread needs to be born.
#include "own_malloc.h"
#include <thrum/thrum.h>

#include <atomic>
#include <chrono>

namespace {

constexpr long spins_with_the_lock = 2'000;
constexpr int seconds_of_work = 2;
constexpr int seconds_of_patience = 10;

std::atomic<long> rounds{0};

[[noreturn]] void allocate_for_ever() {
  for (;;) {
    void* const got = malloc(3000);
    asm volatile("" ::"r"(got) : "memory");
    free(got);
    rounds.fetch_add(1, std::memory_order_relaxed);
  }
}

// Not a thread of thrum's, and it never allocates.
void* watch(void*) {
  for (int second = 0; second < seconds_of_work; ++second) {
    long const before = rounds;
    for (int waited = 0; rounds == before || waited == 0; ++waited) {
      if (waited == seconds_of_patience) own_malloc::fail("a standstill\n");
      ::sleep(1);
    }
  }
  ::_exit(0);
}

}  // namespace

extern "C" void* malloc(std::size_t bytes) noexcept {
  ::pthread_mutex_lock(&own_malloc::lock);
  void* const got = __libc_malloc(bytes);
  own_malloc::spin(spins_with_the_lock);
  ::pthread_mutex_unlock(&own_malloc::lock);
  return got;
}

extern "C" void free(void* gone) noexcept {
  ::pthread_mutex_lock(&own_malloc::lock);
  __libc_free(gone);
  own_malloc::spin(spins_with_the_lock);
  ::pthread_mutex_unlock(&own_malloc::lock);
}

int main() {
  pthread_t watching{};
  if (::pthread_create(&watching, nullptr, watch, nullptr) != 0) own_malloc::fail("no thread\n");
  thrum::run(
      [] {
        for (int i = 0; i < 6; ++i) thrum::go(allocate_for_ever);
        thrum::sleep_for(std::chrono::hours(1));
      },
      thrum::options{.max_procs = 2});
}
