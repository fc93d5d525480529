// Channels between few and many tasks. All tasks are started goroutines. The caller, which is the main goroutine and is
// bound to its thread, only waits.
#include "../common.h"
#include "workloads.h"
#include <thrum/thrum.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

namespace {

using bench::go_int;
using bench::ns_per_unit;
using bench::one;
using bench::sum_below;
using bench::workload;

constexpr std::size_t channel_capacity = 128;

std::int64_t pingpong(int round_trips) {
  thrum::chan<go_int> ping;
  thrum::chan<go_int> pong;
  go_int last = 0;
  thrum::wait_group ended;
  ended.go([&] {
    for (go_int const ball : ping) {
      pong.send(ball + 1);
    }
  });
  ended.go([&] {
    for (int i = 0; i < round_trips; ++i) {
      ping.send(last);
      last = *pong.recv();
    }
    ping.close();
  });
  ended.wait();
  bench::check("the ball", last, round_trips);
  return round_trips;
}

// Sends 0 .. items_each-1 from every producer over one channel, and checks the sum of what the consumers received.
std::int64_t stream(std::size_t producers, std::size_t consumers, int items_each) {
  thrum::chan<go_int> items(channel_capacity);
  thrum::wait_group produced;
  thrum::wait_group consumed;
  for (std::size_t p = 0; p < producers; ++p) {
    produced.go([&] {
      for (int i = 0; i < items_each; ++i) {
        items.send(i);
      }
    });
  }
  std::vector<std::int64_t> sums(consumers);
  for (std::int64_t& seen : sums) {
    consumed.go([&] {
      std::int64_t sum = 0;
      for (go_int const item : items) {
        sum += item;
      }
      seen = sum;
    });
  }
  produced.wait();
  items.close();
  consumed.wait();
  auto const count = static_cast<std::int64_t>(producers);
  bench::check("the sum of the items", std::accumulate(sums.begin(), sums.end(), std::int64_t{0}),
               count * sum_below(items_each));
  return count * items_each;
}

std::int64_t one_to_one(int items) { return stream(1, 1, items); }
std::int64_t many_to_many(int items) { return stream(8, 8, items / 8); }

// Passes one token round a ring of tasks. The first task sends before it receives, the others receive first.
std::int64_t ring(int laps) {
  constexpr std::size_t tasks = 1'000;
  std::vector<thrum::chan<go_int>> links;
  for (std::size_t i = 0; i < tasks; ++i) {
    links.emplace_back();
  }
  thrum::wait_group ended;
  for (std::size_t i = 1; i < tasks; ++i) {
    ended.go([&in = links[i - 1], &out = links[i], laps] {
      for (int lap = 0; lap < laps; ++lap) {
        out.send(*in.recv() + 1);
      }
    });
  }
  go_int token = 0;
  ended.go([&] {
    for (int lap = 0; lap < laps; ++lap) {
      links.front().send(token);
      token = *links.back().recv() + 1;
    }
  });
  ended.wait();
  bench::check("the token", token, std::int64_t{tasks} * laps);
  return token;
}

std::int64_t select_of_four(int items_each) {
  std::array<thrum::chan<go_int>, 4> lanes;
  thrum::wait_group ended;
  for (thrum::chan<go_int>& lane : lanes) {
    ended.go([&lane, items_each] {
      for (int i = 0; i < items_each; ++i) {
        lane.send(i);
      }
    });
  }
  std::int64_t const all = std::int64_t{lanes.size()} * items_each;
  std::int64_t sum = 0;
  ended.go([&] {
    auto const take = [&sum](std::optional<go_int> item) { sum += *item; };
    for (std::int64_t i = 0; i < all; ++i) {
      thrum::select(thrum::on_recv(lanes[0], take), thrum::on_recv(lanes[1], take), thrum::on_recv(lanes[2], take),
                    thrum::on_recv(lanes[3], take));
    }
  });
  ended.wait();
  bench::check("the sum of the items", sum, std::int64_t{lanes.size()} * sum_below(items_each));
  return all;
}

constexpr std::array workloads{
    workload{"pingpong", [] { return one("ns/round trip", ns_per_unit(pingpong, 50'000, 500'000)); }},
    workload{"chan_spsc", [] { return one("ns/item", ns_per_unit(one_to_one, 500'000, 5'000'000)); }},
    workload{"chan_mpmc", [] { return one("ns/item", ns_per_unit(many_to_many, 200'000, 2'000'000)); }},
    workload{"chan_ring", [] { return one("ns/hop", ns_per_unit(ring, 100, 1'000)); }},
    workload{"select", [] { return one("ns/item", ns_per_unit(select_of_four, 25'000, 250'000)); }},
};

}  // namespace

std::span<workload const> channel_workloads() { return workloads; }
