// libpq on threads, one per connection. Threads have no Ps; for runs with one P, run.py binds them to one CPU.
#include "load.h"

#include <array>
#include <latch>
#include <thread>
#include <utility>

namespace {

std::vector<bench::figure> measure() {
  std::vector<std::thread> all;
  return bench::measure_pq<std::latch>([&](auto body) { all.emplace_back(std::move(body)); },
                                       [&] {
                                         for (std::thread& each : all) each.join();
                                       });
}

}  // namespace

int main(int argc, char** argv) {
  std::array<bench::workload, 1> const all{{{"pq", measure}}};
  return bench::command(argc, argv, "std::thread", all, [](int, auto const& body) { body(); });
}
