// Sleeping, and waking a parked task.
#include "../common.h"
#include "workloads.h"
#include <thrum/thrum.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace {

using namespace std::chrono_literals;
using bench::cpu_nanoseconds_of;
using bench::figure;
using bench::one;
using bench::quantile;
using bench::workload;
using std::chrono::steady_clock;

void sleep_in_turns(int tasks, int sleeps_each) {
  thrum::wait_group ended;
  ended.add(tasks);
  for (int i = 0; i < tasks; ++i) {
    thrum::go([&ended, sleeps_each] {
      for (int s = 0; s < sleeps_each; ++s) {
        thrum::sleep_for(1ms);
      }
      ended.done();
    });
  }
  ended.wait();
}

double cpu_per_sleep() {
  constexpr int tasks = 100'000;
  constexpr int sleeps_each = 10;
  sleep_in_turns(tasks / 10, sleeps_each);
  return bench::median_of_rounds(
      [] { return cpu_nanoseconds_of([] { sleep_in_turns(tasks, sleeps_each); }) / (tasks * sleeps_each); });
}

constexpr std::chrono::microseconds longest_sleep = 1s;

// Scatters neighbouring numbers (the final steps of splitmix64), so that every runtime sleeps for the same times.
constexpr std::uint64_t mixed(std::uint64_t n) {
  n += 0x9e3779b97f4a7c15;
  n = (n ^ n >> 30) * 0xbf58476d1ce4e5b9;
  n = (n ^ n >> 27) * 0x94d049bb133111eb;
  return n ^ n >> 31;
}

void sleep_in_crowd(int tasks) {
  thrum::wait_group ended;
  ended.add(tasks);
  for (int i = 0; i < tasks; ++i) {
    std::chrono::microseconds const length(mixed(static_cast<std::uint64_t>(i)) %
                                           static_cast<std::uint64_t>(longest_sleep.count()));
    thrum::go([&ended, length] {
      thrum::sleep_for(length);
      ended.done();
    });
  }
  ended.wait();
}

// How long after the longest sleep all tasks have ended, and the CPU time of the sleeps.
std::vector<figure> sleep_once() {
  constexpr int tasks = 1'000'000;
  sleep_in_crowd(tasks / 10);
  std::array<double, bench::round_count> late_ms{};
  std::array<double, bench::round_count> cpu_ns{};
  for (std::size_t round = 0; round < bench::round_count; ++round) {
    cpu_ns[round] = cpu_nanoseconds_of([&] {
                      double const elapsed_ns = bench::nanoseconds_of([] { sleep_in_crowd(tasks); });
                      late_ms[round] = elapsed_ns / 1e6 - static_cast<double>(longest_sleep / 1ms);
                    }) /
                    tasks;
  }
  return {{"", quantile(late_ms, 0.5), "ms late"}, {"_cpu", quantile(cpu_ns, 0.5), "ns CPU/sleep"}};
}

struct deliveries {
  std::vector<double> delays_us;
  std::vector<double> intervals_us;  // between the sending of one message and the next
};

double us(steady_clock::duration length) { return std::chrono::duration<double, std::micro>(length).count(); }

deliveries send_for_while(steady_clock::duration length) {
  constexpr auto period = 200us;
  thrum::chan<steady_clock::time_point> messages;
  deliveries seen;
  seen.delays_us.reserve(static_cast<std::size_t>(length / period));
  seen.intervals_us.reserve(static_cast<std::size_t>(length / period));
  thrum::wait_group ended;
  ended.go([&] {
    steady_clock::time_point previous;
    for (auto const sent : messages) {
      seen.delays_us.push_back(us(steady_clock::now() - sent));
      if (seen.delays_us.size() > 1) {
        seen.intervals_us.push_back(us(sent - previous));
      }
      previous = sent;
    }
  });
  ended.go([&] {
    for (auto const start = steady_clock::now(); steady_clock::now() - start < length;) {
      thrum::sleep_for(period);
      messages.send(steady_clock::now());
    }
    messages.close();
  });
  ended.wait();
  return seen;
}

// How long a message takes to reach a parked task, and the interval at which the sender really sent. There is only one
// round, because it has thousands of messages.
std::vector<figure> wake_parked() {
  send_for_while(200ms);
  deliveries seen = send_for_while(2s);
  return {{"", quantile(seen.delays_us, 0.5), "us"},
          {"_p99", quantile(seen.delays_us, 0.99), "us"},
          {"_pace", quantile(seen.intervals_us, 0.5), "us/message"}};
}

// The delays of messages whose sender computes after each of them, so that it does not give up its P to the receiver.
std::vector<double> send_and_compute_for_while(steady_clock::duration length) {
  constexpr auto computation = 1ms;
  thrum::chan<steady_clock::time_point> messages;
  std::vector<double> delays_us;
  delays_us.reserve(static_cast<std::size_t>(length / computation) + 1);
  thrum::wait_group ended;
  ended.go([&] {
    for (auto const sent : messages) {
      delays_us.push_back(us(steady_clock::now() - sent));
    }
  });
  ended.go([&] {
    for (auto const start = steady_clock::now(); steady_clock::now() - start < length;) {
      auto const sent = steady_clock::now();
      messages.send(sent);
      while (steady_clock::now() - sent < computation) {
      }
    }
    messages.close();
  });
  ended.wait();
  return delays_us;
}

std::vector<figure> wake_while_busy() {
  send_and_compute_for_while(200ms);
  std::vector<double> delays_us = send_and_compute_for_while(2s);
  return {{"", quantile(delays_us, 0.5), "us"},
          {"_p99", quantile(delays_us, 0.99), "us"},
          {"_worst", quantile(delays_us, 1), "us"}};
}

constexpr std::array workloads{
    workload{"sleep", [] { return one("ns CPU/sleep", cpu_per_sleep()); }},
    workload{"sleep_many", sleep_once},
    workload{"wake", wake_parked},
    workload{"wake_busy", wake_while_busy},
};

}  // namespace

std::span<workload const> time_workloads() { return workloads; }
