#include "command/models/models.h"

#include "command/models/crews.h"
#include "command/models/give_up.h"
#include "command/models/jobs.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace thrum::command {
namespace {

template <class Crew>
measured measure_with(unsigned threads, job which, job_sizes const& sizes) {
  measured result;
  Crew::run(threads, [&] {
    switch (which) {
      case job::start_and_join: result = start_and_join<Crew>(sizes); break;
      case job::ping_pong: result = ping_pong<Crew>(sizes); break;
      case job::computing: result = computing<Crew>(sizes); break;
      case job::blocked: result = blocked<Crew>(sizes); break;
      case job::waiting: result = waiting<Crew>(sizes); break;
    }
  });
  return result;
}

std::uint64_t sum_to(std::uint64_t number) { return number * (number + 1) / 2; }

message measure_here(model how, job which, job_sizes const& sizes) {
  message told;
  try {
    told.is = measure(how, which, sizes);
    std::uint64_t const right = right_sum(which, sizes);
    if (right != 0 && told.is.sum != right) throw std::runtime_error("the tasks have computed a wrong sum");
  } catch (std::exception const& failure) {
    return message_of_failure(failure.what());
  }
  return told;
}

// Whether there is something to read, or the other end is closed, before the limit.
bool can_be_read(int descriptor, std::chrono::milliseconds limit) {
  using std::chrono::steady_clock;
  auto const end = steady_clock::now() + limit;
  for (;;) {
    auto const left = std::chrono::ceil<std::chrono::milliseconds>(end - steady_clock::now());
    pollfd wanted{descriptor, POLLIN, 0};
    int const found = ::poll(&wanted, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
    if (found >= 0 || errno != EINTR) return found != 0;
  }
}

cell median_of(std::vector<cell> runs) {
  for (cell const& each : runs) {
    if (!each.error.empty()) return each;
  }
  auto const middle = runs.begin() + static_cast<std::ptrdiff_t>(runs.size() / 2);
  std::nth_element(runs.begin(), middle, runs.end(),
                   [](cell const& a, cell const& b) { return a.is.value < b.is.value; });
  return *middle;
}

}  // namespace

job_sizes sizes_for_this_machine() {
  job_sizes sizes;
  sizes.threads = std::max(std::thread::hardware_concurrency(), 1U);
  sizes.short_tasks *= (sizes.threads + 1) / 2;
  sizes.messages *= (sizes.threads + 1) / 2;
  return sizes;
}

job_sizes short_sizes() {
  return {.threads = 2,
          .short_tasks = 2'000,
          .messages = 4'000,
          .primes_below = 50'000,
          .calls = 4,
          .call_ms = 5,
          .tasks_beside_calls = 20,
          .waiting_tasks = 1'000};
}

measured measure(model how, job which, job_sizes const& sizes) {
  switch (how) {
    case model::thread_each: return measure_with<threads_alone>(sizes.threads, which, sizes);
    case model::one_thread: return measure_with<fibres_without_ps>(1, which, sizes);
    case model::locked_queue: return measure_with<fibres_without_ps>(std::max(sizes.threads, 2U), which, sizes);
    case model::with_ps: break;
  }
  return measure_with<goroutines>(sizes.threads, which, sizes);
}

std::uint64_t right_sum(job which, job_sizes const& sizes) {
  std::uint64_t const pairs = 2UL * sizes.threads;
  switch (which) {
    case job::start_and_join: return sizes.short_tasks / sizes.threads / 100 * sizes.threads * sum_to(100);
    case job::ping_pong: return sizes.messages / 2 / pairs * pairs;
    case job::blocked: return sum_to(sizes.tasks_beside_calls);
    case job::waiting: return sum_to(sizes.waiting_tasks);
    case job::computing: break;
  }
  return 0;
}

cell measure_in_child(model how, job which, job_sizes const& sizes, std::chrono::milliseconds limit) {
  std::array<int, 2> pipe{};
  if (::pipe(pipe.data()) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  pid_t const child = ::fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (child == 0) {
    tell_failures_to(pipe[1]);
    message const told = measure_here(how, which, sizes);
    ::_exit(::write(pipe[1], &told, sizeof told) == sizeof told ? 0 : 1);
  }
  ::close(pipe[1]);
  bool const hangs = !can_be_read(pipe[0], limit);
  if (hangs) ::kill(child, SIGKILL);
  message told;
  long count = 0;
  do {
    count = ::read(pipe[0], &told, sizeof told);
  } while (count < 0 && errno == EINTR);
  ::close(pipe[0]);
  ::waitpid(child, nullptr, 0);
  if (hangs) return {{}, "its process did not end within " + std::to_string(limit.count()) + " ms"};
  if (count != static_cast<long>(sizeof told)) return {{}, "its process has died"};
  return {told.is, told.error.data()};
}

comparison compare(job_sizes const& sizes, unsigned rounds) {
  comparison all;
  for (std::size_t which = 0; which < job_count; ++which) {
    std::array<std::vector<cell>, model_count> runs;
    for (unsigned round = 0; round < rounds; ++round) {
      for (std::size_t how = 0; how < model_count; ++how)
        runs[how].push_back(measure_in_child(static_cast<model>(how), static_cast<job>(which), sizes));
    }
    for (std::size_t how = 0; how < model_count; ++how) all[which][how] = median_of(std::move(runs[how]));
  }
  return all;
}

}  // namespace thrum::command
