// The jobs of `thrum bench models`, for each model the same. A job returns what it has measured and the sum of what its
// tasks have computed, which does not depend on the model.
#pragma once

#include "command/models/sizes.h"
#include <thrum/detail/atomic.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <deque>
#include <fstream>
#include <system_error>

#include <poll.h>
#include <unistd.h>

namespace thrum::command {

class stopwatch {
 public:
  [[nodiscard]] double ns() const {
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  std::chrono::steady_clock::time_point const begin_ = std::chrono::steady_clock::now();
};

using counter = detail::atomic<std::uint64_t>;

inline void add(counter& to, std::uint64_t value) {
  to.fetch_add(value, detail::relaxed);  // read after the tasks have been waited for
}

// One task for each thread starts short tasks, a hundred at a time, and waits for these.
template <class Crew>
measured start_and_join(job_sizes const& sizes) {
  constexpr std::uint64_t at_a_time = 100;
  std::uint64_t const rounds = sizes.short_tasks / sizes.threads / at_a_time;
  counter sum{0};
  stopwatch const watch;
  typename Crew::group starters;
  for (unsigned i = 0; i < sizes.threads; ++i) {
    starters.start([&sum, rounds] {
      for (std::uint64_t round = 0; round < rounds; ++round) {
        typename Crew::group tasks;
        for (std::uint64_t task = 1; task <= at_a_time; ++task) tasks.start([&sum, task] { add(sum, task); });
        tasks.wait();
      }
    });
  }
  starters.wait();
  return {watch.ns() / static_cast<double>(rounds * at_a_time * sizes.threads), sum.load(detail::relaxed)};
}

// Pairs of tasks send a number to and fro.
template <class Crew>
measured ping_pong(job_sizes const& sizes) {
  struct pair {
    typename Crew::channel ping{};
    typename Crew::channel pong{};
  };
  std::uint64_t const pairs = 2UL * sizes.threads;
  std::uint64_t const rounds = sizes.messages / 2 / pairs;
  counter sum{0};
  std::deque<pair> all(pairs);
  stopwatch const watch;
  typename Crew::group tasks;
  for (pair& each : all) {
    tasks.start([&each, rounds] {
      for (std::uint64_t i = 0; i < rounds; ++i) each.pong.send(each.ping.receive() + 1);
    });
    tasks.start([&each, &sum, rounds] {
      std::uint64_t value = 0;
      for (std::uint64_t i = 0; i < rounds; ++i) {
        each.ping.send(value);
        value = each.pong.receive();
      }
      add(sum, value);
    });
  }
  tasks.wait();
  return {watch.ns() / static_cast<double>(2 * rounds * pairs), sum.load(detail::relaxed)};
}

[[nodiscard]] inline bool is_prime(std::uint64_t number) {
  for (std::uint64_t i = 2; i * i <= number; ++i) {
    if (number % i == 0) return false;
  }
  return number > 1;
}

// 64 tasks compute, each a part of the whole: how many prime numbers there are.
template <class Crew>
measured computing(job_sizes const& sizes) {
  constexpr std::uint64_t parts = 64;
  counter primes{0};
  stopwatch const watch;
  typename Crew::group tasks;
  for (std::uint64_t part = 0; part < parts; ++part) {
    tasks.start([&primes, part, to = sizes.primes_below] {
      std::uint64_t found = 0;
      for (std::uint64_t number = part; number < to; number += parts) found += is_prime(number) ? 1 : 0;
      add(primes, found);
    });
  }
  tasks.wait();
  return {watch.ns(), primes.load(detail::relaxed)};
}

// A pipe, of which a system call waits for the end.
class end_of_pipe {
 public:
  end_of_pipe() {
    if (::pipe(ends_.data()) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  }
  ~end_of_pipe() {
    ::close(ends_[0]);
    if (!has_come_) ::close(ends_[1]);
  }
  end_of_pipe(end_of_pipe const&) = delete;
  end_of_pipe& operator=(end_of_pipe const&) = delete;

  void come() {
    has_come_ = true;
    ::close(ends_[1]);
  }
  void wait_in_the_kernel(unsigned ms_max) const {
    pollfd end{ends_[0], POLLIN, 0};
    static_cast<void>(::poll(&end, 1, static_cast<int>(ms_max)));
  }

 private:
  std::array<int, 2> ends_{};
  bool has_come_ = false;
};

// Tasks block their threads in system calls. Short tasks, which were started after them, are done after the time that
// is measured. `beside_calls` is how many were done when the last call returned.
template <class Crew>
measured blocked(job_sizes const& sizes) {
  counter sum{0}, done{0}, beside_calls{0}, calls_left{sizes.calls};
  end_of_pipe end;
  stopwatch const watch;
  detail::atomic<std::int64_t> done_after_ns{0};
  typename Crew::group tasks;
  for (std::uint64_t call = 0; call < sizes.calls; ++call) {
    tasks.start([&] {
      Crew::blocking([&] { end.wait_in_the_kernel(sizes.call_ms); });
      if (calls_left.fetch_sub(1, detail::relaxed) == 1)
        beside_calls.store(done.load(detail::relaxed), detail::relaxed);
    });
  }
  for (std::uint64_t task = 1; task <= sizes.tasks_beside_calls; ++task) {
    tasks.start([&, task] {
      add(sum, task);
      if (done.fetch_add(1, detail::relaxed) + 1 == sizes.tasks_beside_calls) {
        done_after_ns.store(static_cast<std::int64_t>(watch.ns()), detail::relaxed);
        if (sizes.calls_end_with_tasks) end.come();
      }
    });
  }
  tasks.wait();
  return {static_cast<double>(done_after_ns.load(detail::relaxed)), sum.load(detail::relaxed),
          beside_calls.load(detail::relaxed)};
}

[[nodiscard]] inline double resident_bytes() {
  std::ifstream file("/proc/self/statm");
  double pages = 0;
  file >> pages >> pages;
  return pages * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

// Many tasks wait at the same time. The memory is that of the process; the kernel's own, such as a thread's stack in
// the kernel, is not in it.
template <class Crew>
measured waiting(job_sizes const& sizes) {
  counter sum{0};
  typename Crew::channel arrived, gate;
  double const before = resident_bytes();
  typename Crew::group tasks;
  for (std::uint64_t task = 0; task < sizes.waiting_tasks; ++task) {
    tasks.start([&] {
      arrived.send(1);
      add(sum, gate.receive());
    });
  }
  for (std::uint64_t task = 0; task < sizes.waiting_tasks; ++task) static_cast<void>(arrived.receive());
  double const bytes = resident_bytes() - before;
  for (std::uint64_t task = 1; task <= sizes.waiting_tasks; ++task) gate.send(task);
  tasks.wait();
  return {bytes / static_cast<double>(sizes.waiting_tasks), sum.load(detail::relaxed)};
}

}  // namespace thrum::command
