// Hello from some goroutines: `go` starts one, and a wait_group waits for all of them.
#include <thrum/thrum.h>

#include <cstdio>

int main() {
  return thrum::run([] {
    thrum::wait_group all;
    for (int i = 1; i <= 3; ++i) {
      all.go([i] { std::printf("hello from goroutine %d\n", i); });  // they run in unspecified order
    }
    all.wait();  // otherwise main might return first, and the other goroutines would be stopped
    std::puts("hello from main");
  });
}
