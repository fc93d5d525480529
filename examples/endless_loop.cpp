// One processor, a goroutine in an endless loop, and main that only wants to sleep for a second. With Go before 1.14, and
// with every library of fibres, this program never ends. Here the loop is preempted after 10 ms, in the middle of it.
#include <thrum/thrum.h>

#include <chrono>
#include <cstdio>

int main() {
  using namespace std::chrono_literals;
  return thrum::run(
      [] {
        thrum::go([] {
          for (;;) asm volatile("");  // an empty endless loop is undefined in C++: the compiler may drop it
        });
        thrum::sleep_for(1s);
        std::puts("Done");
      },
      {.max_procs = 1});
}
