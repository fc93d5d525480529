// Hello from some goroutines: `go` starts one, a wait_group waits for all of them.
#include <thrum/thrum.h>

#include <cstdio>

int main() {
  return thrum::run([] {
    thrum::wait_group all;
    for (int i = 1; i <= 3; ++i) {
      all.go([i] { std::printf("hello from goroutine %d\n", i); });  // the three run in any order
    }
    all.wait();  // without this main might return first, and then the others stop where they are
    std::puts("hello from main");
  });
}
