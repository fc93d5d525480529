// Fibonacci numbers the slow way: some 318,000 goroutines for fib(27). `spawn` starts a goroutine that has a result,
// join() waits for it. A child that nobody has begun yet is run by its joiner right there, on the same stack: so this
// costs little more than the plain recursion, and spreads over all processors by itself.
#include <thrum/thrum.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace {

long fib(int n) {
  if (n < 2) return n;
  auto left = thrum::spawn(fib, n - 1);  // may be stolen by another processor
  long const right = fib(n - 2);         // meanwhile
  return left.join() + right;            // an exception in there would come out here
}

}  // namespace

int main(int argc, char** argv) {
  int const n = argc > 1 ? std::atoi(argv[1]) : 27;
  return thrum::run([n] {
    auto const began = std::chrono::steady_clock::now();
    long const result = fib(n);
    std::chrono::duration<double, std::milli> const took = std::chrono::steady_clock::now() - began;
    std::printf("fib(%d) = %ld, in %.1f ms on %d processors\n", n, result, took.count(), thrum::max_procs());
  });
}
