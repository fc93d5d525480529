// How large the jobs of `thrum bench models` are, and what one of them measures.
#pragma once

#include <cstdint>

namespace thrum::command {

struct job_sizes {
  unsigned threads = 2;  // that run tasks at the same time
  std::uint64_t short_tasks = 40'000;
  std::uint64_t messages = 200'000;
  std::uint64_t primes_below = 1'500'000;
  std::uint64_t calls = 8;
  unsigned call_ms = 20;
  bool calls_end_with_tasks = false;  // a call also ends when all the short tasks beside it are done
  std::uint64_t tasks_beside_calls = 100;
  std::uint64_t waiting_tasks = 4'000;
};

// What a job has measured.
struct measured {
  double value = 0;  // ns, or bytes of a waiting task
  std::uint64_t sum = 0;
  std::uint64_t beside_calls = 0;
};

}  // namespace thrum::command
