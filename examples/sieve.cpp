// The prime sieve of Go's tutorial: a chain of goroutines, each of which passes on the numbers that its own prime does
// not divide. The first number that comes out at the end of the chain is the next prime, and gets a goroutine of its
// own.
#include <thrum/thrum.h>

#include <cstdio>
#include <cstdlib>

namespace {

using numbers = thrum::chan<int>;

void count(int end, numbers::sender out) {
  for (int n = 2; n < end; ++n) out.send(n);
  out.close();
}

void filter(int prime, numbers::receiver in, numbers::sender out) {
  for (int n : in) {  // until `in` is closed
    if (n % prime != 0) out.send(n);
  }
  out.close();
}

}  // namespace

int main(int argc, char** argv) {
  int const end = argc > 1 ? std::atoi(argv[1]) : 100;
  return thrum::run([end] {
    numbers chain;
    thrum::group links;  // its destructor waits for all of them
    links.go([=] { count(end, chain); });
    while (auto const prime = chain.recv()) {
      std::printf("%d\n", *prime);
      numbers next;
      links.go([=] { filter(*prime, chain, next); });
      chain = next;
    }
  });
}
