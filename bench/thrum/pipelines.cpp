// Many tasks, each with its own channel: the prime sieve and skynet.
#include "../common.h"
#include "workloads.h"
#include <thrum/thrum.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

namespace {

using bench::go_int;
using bench::ms_of;
using bench::one;
using bench::workload;

// The count-th prime. The numbers of the sieve end there, so that its tasks can end too.
int last_prime(int count) {
  switch (count) {
    case 150: return 863;
    case 1'500: return 12'553;
    default: bench::fail(1, "no sieve of this size");
  }
}

void filter(thrum::chan<go_int> in, thrum::chan<go_int> out, go_int prime) {
  for (go_int const n : in) {
    if (n % prime != 0) {
      out.send(n);
    }
  }
  out.close();
}

// Sends the numbers from 2 on through a chain of filters, with one task per prime.
void sieve(int count) {
  int const limit = last_prime(count);
  thrum::chan<go_int> numbers;
  thrum::wait_group ended;
  ended.go([&] {
    for (int n = 2; n <= limit; ++n) {
      numbers.send(n);
    }
    numbers.close();
  });
  int found = 0;
  go_int last = 0;
  ended.go([&] {
    thrum::chan<go_int> in = numbers;
    while (std::optional<go_int> const prime = in.recv()) {
      ++found;
      last = *prime;
      thrum::chan<go_int> out;
      ended.go([in, out, prime = *prime] { filter(in, out, prime); });
      in = out;
    }
  });
  ended.wait();
  bench::check("the count of primes", found, count);
  bench::check("the last prime", last, limit);
}

// Sends the sum of the numbers of its leaves, which begin at `first`, to `answer`.
void skynet_node(thrum::chan<std::int64_t> const& answer, std::int64_t first, std::int64_t leaves) {
  if (leaves == 1) {
    answer.send(first);
    return;
  }
  constexpr std::int64_t children = 10;
  thrum::chan<std::int64_t> sums;
  for (std::int64_t child = 0; child < children; ++child) {
    thrum::go([sums, first = first + child * (leaves / children), leaves = leaves / children] {
      skynet_node(sums, first, leaves);
    });
  }
  std::int64_t sum = 0;
  for (std::int64_t child = 0; child < children; ++child) {
    sum += *sums.recv();
  }
  answer.send(sum);
}

void skynet(int leaves) {
  thrum::chan<std::int64_t> answer;
  thrum::go([answer, leaves] { skynet_node(answer, 0, leaves); });
  bench::check("the sum of the leaves", *answer.recv(), bench::sum_below(leaves));
}

constexpr std::array workloads{
    workload{"sieve", [] { return one("ms", ms_of(sieve, 150, 1'500)); }},
    workload{"skynet", [] { return one("ms", ms_of(skynet, 100'000, 1'000'000)); }},
};

}  // namespace

std::span<workload const> pipeline_workloads() { return workloads; }
