// The bench program on Boost.Fiber: tasks and channels. One thread uses its round-robin scheduler. More threads use its
// work stealing, with the option to sleep when idle. The main fiber of each thread stays on that thread.
#include "../common.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <numeric>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <boost/fiber/algo/work_stealing.hpp>
#include <boost/fiber/buffered_channel.hpp>
#include <boost/fiber/condition_variable.hpp>
#include <boost/fiber/fiber.hpp>
#include <boost/fiber/mutex.hpp>
#include <boost/fiber/operations.hpp>
#include <boost/fiber/unbuffered_channel.hpp>
#include <boost/version.hpp>

namespace {

namespace fibers = boost::fibers;
using bench::ns_per_unit;
using bench::one;
using bench::sum_below;
using bench::workload;

// Boost.Fiber has no wait group, so its users keep the fibers and join them.
void join_all(std::span<fibers::fiber> started) {
  for (fibers::fiber& each : started) {
    each.join();
  }
}

std::int64_t spawn_in_batches(int tasks) {
  constexpr int batch_size = 10'000;
  std::vector<fibers::fiber> batch;
  batch.reserve(batch_size);
  for (int started = 0; started < tasks; started += batch_size) {
    for (int i = 0; i < batch_size; ++i) {
      batch.emplace_back([] {});
    }
    join_all(batch);
    batch.clear();
  }
  return tasks;
}

std::int64_t yield_from(int tasks, int yields_each) {
  std::vector<fibers::fiber> started;
  for (int i = 0; i < tasks; ++i) {
    started.emplace_back([yields_each] {
      for (int y = 0; y < yields_each; ++y) {
        boost::this_fiber::yield();
      }
    });
  }
  join_all(started);
  return std::int64_t{tasks} * yields_each;
}

std::int64_t yield_in_pair(int yields_each) { return yield_from(2, yields_each); }
std::int64_t yield_in_crowd(int yields_each) { return yield_from(10'000, yields_each); }

std::int64_t pingpong(int round_trips) {
  fibers::unbuffered_channel<bench::go_int> ping;
  fibers::unbuffered_channel<bench::go_int> pong;
  bench::go_int last = 0;
  fibers::fiber returning([&] {
    for (bench::go_int const ball : ping) {
      pong.push(ball + 1);
    }
  });
  fibers::fiber serving([&] {
    for (int i = 0; i < round_trips; ++i) {
      ping.push(last);
      last = pong.value_pop();
    }
    ping.close();
  });
  returning.join();
  serving.join();
  bench::check("the ball", last, round_trips);
  return round_trips;
}

// Sends 0 .. items_each-1 from every producer over one channel, and checks the sum of what the consumers received.
std::int64_t stream(std::size_t producers, std::size_t consumers, int items_each) {
  fibers::buffered_channel<bench::go_int> items(128);  // it uses 127 of them
  std::vector<fibers::fiber> sending;
  for (std::size_t p = 0; p < producers; ++p) {
    sending.emplace_back([&] {
      for (int i = 0; i < items_each; ++i) {
        items.push(i);
      }
    });
  }
  std::vector<std::int64_t> sums(consumers);
  std::vector<fibers::fiber> receiving;
  for (std::int64_t& seen : sums) {
    receiving.emplace_back([&] {
      std::int64_t sum = 0;
      for (bench::go_int const item : items) {
        sum += item;
      }
      seen = sum;
    });
  }
  join_all(sending);
  items.close();
  join_all(receiving);
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
  std::vector<std::unique_ptr<fibers::unbuffered_channel<bench::go_int>>> links;
  for (std::size_t i = 0; i < tasks; ++i) {
    links.push_back(std::make_unique<fibers::unbuffered_channel<bench::go_int>>());
  }
  std::vector<fibers::fiber> started;
  for (std::size_t i = 1; i < tasks; ++i) {
    started.emplace_back([&in = *links[i - 1], &out = *links[i], laps] {
      for (int lap = 0; lap < laps; ++lap) {
        out.push(in.value_pop() + 1);
      }
    });
  }
  bench::go_int token = 0;
  started.emplace_back([&] {
    for (int lap = 0; lap < laps; ++lap) {
      links.front()->push(token);
      token = links.back()->value_pop() + 1;
    }
  });
  join_all(started);
  bench::check("the token", token, std::int64_t{tasks} * laps);
  return token;
}

constexpr std::array workloads{
    workload{"spawn", [] { return one("ns/task", ns_per_unit(spawn_in_batches, 100'000, 1'000'000)); }},
    workload{"yield", [] { return one("ns/yield", ns_per_unit(yield_in_pair, 100'000, 1'000'000)); }},
    workload{"yield_many", [] { return one("ns/yield", ns_per_unit(yield_in_crowd, 10, 100)); }},
    workload{"pingpong", [] { return one("ns/round trip", ns_per_unit(pingpong, 50'000, 500'000)); }},
    workload{"chan_spsc", [] { return one("ns/item", ns_per_unit(one_to_one, 500'000, 5'000'000)); }},
    workload{"chan_mpmc", [] { return one("ns/item", ns_per_unit(many_to_many, 200'000, 2'000'000)); }},
    workload{"chan_ring", [] { return one("ns/hop", ns_per_unit(ring, 100, 1'000)); }},
};

// Runs body on this thread while procs - 1 other threads steal from it. They end when body has ended.
template <class Body>
void with_stealing(int procs, Body const& body) {
  auto const count = static_cast<std::uint32_t>(procs);
  fibers::mutex lock;
  fibers::condition_variable ended;
  bool is_over = false;
  std::vector<std::thread> others;
  auto const steal = [count] { fibers::use_scheduling_algorithm<fibers::algo::work_stealing>(count, true); };
  for (int i = 1; i < procs; ++i) {
    others.emplace_back([&] {
      steal();
      std::unique_lock waiting(lock);
      ended.wait(waiting, [&] { return is_over; });
    });
  }
  steal();
  body();
  {
    std::lock_guard const guard(lock);
    is_over = true;
  }
  ended.notify_all();
  for (std::thread& other : others) {
    other.join();
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::string version = "Boost.Fiber " BOOST_LIB_VERSION;
  std::replace(version.begin(), version.end(), '_', '.');
  return bench::command(argc, argv, version, workloads, [](int procs, auto const& body) {
    if (procs == 1) {
      body();
    } else {
      with_stealing(procs, body);
    }
  });
}
