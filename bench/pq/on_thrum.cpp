// libpq on goroutines. The program is linked with thrum::posix and otherwise is an ordinary program.
#include "load.h"
#include <thrum/thrum.h>

#include <array>
#include <utility>

namespace {

std::vector<bench::figure> measure() {
  thrum::wait_group all;
  return bench::measure_pq<thrum::latch>([&](auto body) { all.go(std::move(body)); }, [&] { all.wait(); });
}

}  // namespace

int main(int argc, char** argv) {
  std::array<bench::workload, 1> const all{{{"pq", measure}}};
  return bench::command(argc, argv, "thrum::posix", all,
                        [](int procs, auto const& body) { thrum::run(body, thrum::options{.max_procs = procs}); });
}
