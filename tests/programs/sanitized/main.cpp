// A program that is compiled with a sanitizer and linked with a thrum that is not. It has frames with poisoned memory
// around their local variables that return or are left by exceptions and by goexit, and stacks that other goroutines
// reuse. With the argument "wrong" it also writes past the end of a local variable.
#include <thrum/thrum.h>

#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string_view>

namespace {

[[gnu::noinline]] int descend(int frames, bool throws) {
  char local[200];
  std::memset(local, frames, sizeof local);
  if (frames == 0) {
    if (throws) throw std::runtime_error("from below");
    thrum::goexit();
  }
  return descend(frames - 1, throws) + local[3];
}

// The C library's functions, as the sanitizer has replaced them, look at the poison of whatever was here before.
[[gnu::noinline]] void fill(int number, char const* format) {
  char local[300];
  std::snprintf(local, sizeof local, format, number);
  std::memset(local, number, sizeof local);
}

void live(int number) {
  fill(number, "%d");
  try {
    static_cast<void>(descend(10 + number % 20, true));
  } catch (std::runtime_error const&) {
    fill(number, "%d caught");
  }
  thrum::yield();
  fill(number, "%d again");
  if (number % 3 == 0) static_cast<void>(descend(5 + number % 10, false));
}

[[gnu::noinline]] void write_past(char* local, std::size_t bytes) { std::memset(local, 1, bytes + 1); }

}  // namespace

int main(int argc, char** argv) {
  std::string_view const asked = argc > 1 ? argv[1] : "";
  return thrum::run([asked] {
    for (int round = 0; round < 20; ++round) {
      thrum::wait_group all;
      for (int i = 0; i < 30; ++i) all.go([i] { live(i); });
      all.wait();
    }
    if (asked == "wrong") {
      thrum::spawn([] {
        char local[16];
        write_past(local, sizeof local);
        asm volatile("" ::"r"(local) : "memory");
      }).join();
    }
    std::puts("nothing was wrong");
  });
}
