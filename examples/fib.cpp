// Fibonacci numbers the slow way: some 318,000 goroutines for fib(27). `spawn` starts a goroutine with a result, and
// join() waits for it. If the child has not started, join() runs it right there, on the caller's stack. So this costs
// little more than the plain recursion, and the work spreads over all Ps.
#include <thrum/thrum.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace {

long fib(int n) {
  if (n < 2) return n;
  auto left = thrum::spawn(fib, n - 1);  // another P may steal it
  long const right = fib(n - 2);         // runs meanwhile
  return left.join() + right;            // join() rethrows an exception of the child
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
