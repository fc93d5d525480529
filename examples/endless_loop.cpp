// One P, a goroutine in an endless loop, and a main goroutine that sleeps for a second. With Go before 1.14, and with
// every fibre library, this program never ends. Here the loop is preempted after 10 ms, in the middle of an iteration.
#include <thrum/thrum.h>

#include <chrono>
#include <cstdio>

int main() {
  using namespace std::chrono_literals;
  return thrum::run(
      [] {
        thrum::go([] {
          // An empty endless loop is undefined behaviour in C++, so the compiler may drop it. The asm prevents that.
          for (;;) asm volatile("");
        });
        thrum::sleep_for(1s);
        std::puts("Done");
      },
      {.max_procs = 1});
}
