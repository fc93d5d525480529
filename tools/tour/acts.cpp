#include "acts.h"

#include "measure.h"
#include "text.h"
#include <thrum/thrum.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace tour {
namespace {

void expect(std::string const& what, std::uint64_t is, std::uint64_t must_be) {
  if (is != must_be) throw wrong_result(what, is, must_be);
}

std::uint64_t fib(int n) {
  if (n < 2) return static_cast<std::uint64_t>(n);
  auto larger = thrum::spawn([n] { return fib(n - 1); });
  std::uint64_t const smaller = fib(n - 2);  // meanwhile
  return larger.join() + smaller;
}

std::uint64_t fib_without_goroutines(int n) {
  std::uint64_t current = 0;
  std::uint64_t next = 1;
  for (; n > 0; --n) current = std::exchange(next, current + next);
  return current;
}

}  // namespace

wrong_result::wrong_result(std::string const& what, std::uint64_t is, std::uint64_t must_be)
    : std::runtime_error("wrong result: " + what + ": " + with_commas(is) + ", must be " + with_commas(must_be)) {}

crowd_memory measure_crowd() {
  constexpr std::uint64_t crowd = 100'000;
  constexpr std::uint64_t part = 10'000;  // so few that they are created within a slice, unless the machine is busy
  crowd_memory found{crowd, std::nullopt, 0};
  auto const main = [&found] {
    thrum::wait_group gate;  // all goroutines wait at it
    thrum::wait_group arrived;
    thrum::wait_group all;
    gate.add(1);
    std::atomic<std::uint64_t> begun = 0;
    std::atomic<std::uint64_t> passed = 0;

    std::uint64_t const before = resident_bytes();
    for (std::uint64_t created = 0; created < crowd; created += part) {
      arrived.add(part);
      std::uint64_t const before_part = resident_bytes();
      for (std::uint64_t i = 0; i < part; ++i) {
        all.go([&] {
          ++begun;
          arrived.done();
          gate.wait();
          ++passed;
        });
      }
      std::uint64_t const bytes = resident_bytes() - before_part;
      bool const none_has_run = begun == created;
      if (none_has_run && !found.created_bytes_each) found.created_bytes_each = bytes / part;
      arrived.wait();
    }
    found.parked_bytes = resident_bytes() - before;

    gate.done();
    all.wait();
    expect("goroutines that passed the gate", passed, crowd);
  };
  thrum::run(main, {.max_procs = 1});
  return found;
}

finding million(screen& to) {
  constexpr std::uint64_t goroutines = 1'000'000;
  constexpr std::uint64_t wave_size = 10'000;
  std::uint64_t ran = 0;
  std::vector<std::uint8_t> marks(wave_size);  // each goroutine has its own to set

  measurement const measured;
  for (std::uint64_t done = 0; done < goroutines; done += wave_size) {
    thrum::wait_group wave;
    // Counted once: to count while other Ps count down would have the cores fight for the counter's cache line.
    wave.add(wave_size);
    for (std::uint8_t& mark : marks) {
      thrum::go([&mark, &wave] {
        ++mark;
        wave.done();
      });
    }
    wave.wait();
    ran += static_cast<std::uint64_t>(std::count(marks.begin(), marks.end(), 1));
    std::fill(marks.begin(), marks.end(), 0);
    to.progress(done + wave_size, goroutines, "goroutines");
  }
  auto const [took_ns, counted] = measured.so_far();
  expect("goroutines that ran exactly once", ran, goroutines);

  return {goroutines, "goroutines", "goroutine", took_ns,
          "When a goroutine ends, the next one takes its stack over: " + with_commas(counted.stack_handovers) + " of " +
              with_commas(counted.created) + " began so, without a switch."};
}

finding fork_join(screen&) {
  constexpr int n = 27;
  measurement const measured;
  std::uint64_t const answer = fib(n);
  auto const [took_ns, counted] = measured.so_far();
  expect("fib(27)", answer, fib_without_goroutines(n));
  std::uint64_t const calls_that_spawn = fib_without_goroutines(n + 1) - 1;
  expect("goroutines created", counted.created, calls_that_spawn);

  std::string to_be_seen =
      "A join calls a child that no thread has begun like a function: " + with_commas(counted.joined_in_place) +
      " of " + with_commas(counted.created) + ".";
  if (thrum::max_procs() > 1) {
    to_be_seen += " " + with_commas(counted.steals) + " steals spread the work over the Ps.";
  }
  return {counted.created, "goroutines", "goroutine", took_ns, to_be_seen};
}

finding ring(screen&) {
  constexpr std::size_t size = 1'000;
  constexpr std::uint64_t laps = 500;
  std::vector<thrum::wait_group> token_at(size);  // at zero: the token is here
  for (thrum::wait_group& each : token_at) each.add(1);
  std::uint64_t passes = 0;  // needs no lock: only the holder of the token touches it
  thrum::wait_group all;

  measurement const measured;
  for (std::size_t here = 0; here < size; ++here) {
    all.go([&, here] {
      for (std::uint64_t lap = 0; lap < laps; ++lap) {
        token_at[here].wait();
        token_at[here].add(1);  // before it is passed on, so that it can come round again
        ++passes;
        token_at[(here + 1) % size].done();
      }
    });
  }
  token_at[0].done();
  all.wait();
  auto const [took_ns, counted] = measured.so_far();
  expect("passes of the token", passes, size * laps);

  return {passes, "passes", "pass", took_ns,
          "A goroutine that waits switches straight to the one it woke: " + with_commas(counted.switches_direct) +
              " times, and " + with_commas(counted.switches_via_g0) +
              " times through g0, the stack on which a thread looks for work."};
}

finding yields(screen&) {
  constexpr std::uint64_t goroutines = 1'000;
  constexpr std::uint64_t turns = 1'000;
  std::vector<std::uint64_t> taken(goroutines);
  thrum::wait_group all;

  measurement const measured;
  for (std::uint64_t& mine : taken) {
    all.go([&mine] {
      for (std::uint64_t turn = 0; turn < turns; ++turn) {
        ++mine;
        thrum::yield();
      }
    });
  }
  all.wait();
  auto const [took_ns, counted] = measured.so_far();
  for (std::uint64_t const mine : taken) expect("turns of a goroutine", mine, turns);

  return {goroutines * turns, "yields", "yield", took_ns,
          "A yield goes to the back of the queue and switches straight to the front: " +
              with_commas(counted.switches_direct) + " times, and " + with_commas(counted.switches_via_g0) +
              " times through g0."};
}

finding shared_counter(screen&) {
  constexpr std::uint64_t goroutines = 1'000;
  constexpr std::uint64_t increments = 1'000;
  std::uint64_t counter = 0;
  thrum::mutex guards_counter;
  thrum::wait_group all;

  measurement const measured;
  for (std::uint64_t i = 0; i < goroutines; ++i) {
    all.go([&] {
      for (std::uint64_t n = 0; n < increments; ++n) {
        std::lock_guard const locked(guards_counter);
        ++counter;
      }
    });
  }
  all.wait();
  auto const [took_ns, counted] = measured.so_far();
  expect("the shared counter", counter, goroutines * increments);

  return {counter, "locks", "lock", took_ns,
          "No count was lost. Waiting for a mutex parks the goroutine, not its thread (parks: " +
              with_commas(counted.parks) + ")."};
}

}  // namespace tour
