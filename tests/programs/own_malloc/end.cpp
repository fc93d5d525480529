// T03: the run ends while a goroutine is paused with the lock that every thread needs to end.
#include "own_malloc.h"
#include <thrum/thrum.h>

#include <atomic>
#include <chrono>

#include <signal.h>

namespace {

using namespace std::chrono_literals;

constexpr unsigned seconds_of_patience = 30;
constexpr std::size_t slow_bytes = 3000;
constexpr long slow_spins = 600'000'000;

std::atomic<bool> has_the_lock{false};
std::atomic<int> others{0};

void spin_if_slow(std::size_t bytes) noexcept {
  if (bytes != slow_bytes) return;
  has_the_lock = true;
  own_malloc::spin(slow_spins);
}

}  // namespace

int main() {
  own_malloc::on_malloc = spin_if_slow;
  ::signal(SIGALRM, [](int) { own_malloc::fail("run() does not return, or no thread can allocate after it\n"); });
  ::alarm(seconds_of_patience);
  thrum::run(
      [] {
        // Makes threads that rest from now on, so that no new thread is needed to pause a goroutine.
        constexpr int hogs = 3;
        std::atomic<int> inside{0};
        std::atomic<bool> may_return{false};
        thrum::wait_group calls;
        for (int i = 0; i < hogs; ++i) {
          calls.go([&] {
            thrum::blocking(
                [&] {
                  ++inside;
                  while (!may_return) ::usleep(1'000);
                },
                thrum::blocking_hint::long_call);
          });
        }
        while (inside < hogs) thrum::yield();
        may_return = true;
        calls.wait();
        while (thrum::read_stats().idle_threads < hogs) thrum::sleep_for(1ms);
        thrum::go([] {
          asm volatile("" ::"r"(malloc(slow_bytes)) : "memory");
          for (;;) own_malloc::spin(1'000);
        });
        for (int i = 0; i < 2; ++i) {
          thrum::go([] {
            ++others;
            for (;;) own_malloc::spin(1'000);
          });
        }
        // There is one P, so all three are paused when this goroutine sees that they have begun.
        while (!has_the_lock || others < 2) thrum::yield();
      },
      thrum::options{.max_procs = 1});
  void* const got = malloc(1);
  asm volatile("" ::"r"(got) : "memory");
  free(got);
  ::_exit(0);
}
