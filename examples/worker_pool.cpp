// A worker pool: as many goroutines as there are Ps share one channel of jobs and send their results to another.
// Closing the channel of jobs ends the workers, and the end of the last worker closes the channel of results.
#include <thrum/thrum.h>

#include <cstdio>

namespace {

struct range {
  int first;
  int end;
};

bool is_prime(int n) {
  for (int d = 2; d * d <= n; ++d) {
    if (n % d == 0) return false;
  }
  return n >= 2;
}

int primes_in(range part) {
  int found = 0;
  for (int n = part.first; n < part.end; ++n) found += is_prime(n) ? 1 : 0;
  return found;
}

}  // namespace

int main() {
  return thrum::run([] {
    constexpr int end = 500'000;
    constexpr int step = 5'000;
    thrum::chan<range> jobs;
    thrum::chan<int> results;

    thrum::wait_group workers;
    for (int i = 0; i < thrum::max_procs(); ++i) {
      workers.go([=] {
        for (range job : jobs) results.send(primes_in(job));
      });
    }
    thrum::go([=] {
      for (int first = 0; first < end; first += step) jobs.send({first, first + step});
      jobs.close();
    });
    thrum::go([&] {
      workers.wait();
      results.close();
    });

    int total = 0;
    for (int found : results) total += found;
    std::printf("%d primes below %d\n", total, end);
  });
}
