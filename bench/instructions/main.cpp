// Does one operation n times, to count its instructions: `bench_instructions <operation> <n>`.
//
// bench/instructions.py runs it under callgrind with two values of n and divides the difference, so that the cost of
// starting up cancels out.
#include <thrum/thrum.h>
#include <thrum/trace.h>

#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace {

constexpr int batch = 100;

void create_run_and_end(long n) {
  for (long done = 0; done < n; done += batch) {
    thrum::wait_group all;
    all.add(batch);
    for (int i = 0; i < batch; ++i) {
      thrum::go([&all] { all.done(); });
    }
    all.wait();
  }
}

void two_that_yield(long n) {
  thrum::wait_group both;
  for (int i = 0; i < 2; ++i) {
    both.go([n] {
      for (long k = 0; k < n / 2; ++k) thrum::yield();
    });
  }
  both.wait();
}

// Two goroutines wake each other in turn and wait: one park and one ready per step.
void park_and_ready(long n) {
  struct baton {
    thrum::wait_group mine;
  };
  std::vector<baton> steps(static_cast<std::size_t>(n) + 2);
  for (auto& step : steps) step.mine.add(1);
  thrum::wait_group both;
  for (std::size_t first = 0; first < 2; ++first) {
    both.go([&steps, first, n] {
      for (std::size_t at = first; at < static_cast<std::size_t>(n); at += 2) {
        steps[at].mine.wait();
        steps[at + 1].mine.done();
      }
    });
  }
  thrum::yield();
  steps[0].mine.done();
  both.wait();
}

void spawn_and_join(long n) {
  for (long i = 0; i < n; ++i) thrum::spawn([] {}).join();
}

void lock_and_unlock(long n) {
  thrum::mutex m;
  for (long i = 0; i < n; ++i) {
    m.lock();
    m.unlock();
  }
}

// One send and one receive per step, each of which wakes the other side or waits.
void hand_over(long n) {
  thrum::chan<int> there;
  thrum::chan<int> back;
  thrum::go([=]() mutable {
    while (auto const value = there.recv()) back.send(*value);
  });
  for (long i = 0; i < n; ++i) {
    there.send(1);
    static_cast<void>(back.recv());
  }
  there.close();
}

// The same with the flight recorder: six events more per step.
void hand_over_recorded(long n) {
  thrum::trace::start_recorder();
  hand_over(n);
  thrum::trace::stop_recorder();
}

void announce_and_return(long n) {
  for (long i = 0; i < n; ++i) thrum::blocking([] {});
}

std::map<std::string, void (*)(long)> const operations = {
    {"go", create_run_and_end},       {"yield", two_that_yield},         {"park_ready", park_and_ready},
    {"spawn_join", spawn_and_join},   {"mutex", lock_and_unlock},        {"pingpong", hand_over},
    {"recorded", hand_over_recorded}, {"blocking", announce_and_return},
};

}  // namespace

int main(int count, char** arguments) {
  if (count == 2 && std::string(arguments[1]) == "--list") {
    for (auto const& [name, run] : operations) std::cout << name << '\n';
    return 0;
  }
  auto const chosen = count == 3 ? operations.find(arguments[1]) : operations.end();
  if (chosen == operations.end() || std::atol(arguments[2]) <= 0) {
    std::cerr << "usage: bench_instructions <operation> <n>, or --list\n";
    return 2;
  }
  return thrum::run([&] { chosen->second(std::atol(arguments[2])); }, {.max_procs = 1});
}
