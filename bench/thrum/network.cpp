// A TCP echo server on loopback, under the load of the fixed client (bench/echo_client).
#include "../echo_load.h"
#include "workloads.h"
#include <thrum/thrum.h>

#include <array>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

namespace {

using bench::figure;
using bench::workload;

void answer(thrum::tcp_conn conn) {
  std::array<char, 4096> bytes;
  std::error_code error;
  while (auto const n = conn.read_some(bytes, error)) {
    conn.write_all({bytes.data(), n}, error);
    if (error) {
      return;
    }
  }
}

void serve(thrum::tcp_listener& listener) {
  for (;;) {
    std::error_code error;
    auto conn = listener.accept(error);
    if (error) {
      return;
    }
    thrum::go(answer, std::move(conn));
  }
}

std::vector<figure> echo_with(int connections) {
  bench::allow_many_files();
  auto listener = thrum::tcp_listener::listen("127.0.0.1:0");
  auto server = thrum::spawn([&] { serve(listener); });
  unsigned const port = listener.local_endpoint().port();
  bench::echo_report said;
  thrum::blocking([&] { said = bench::run_echo_client(port, connections); }, thrum::blocking_hint::long_call);
  listener.close();
  server.join();
  return said.figures();
}

constexpr std::array workloads{
    workload{"echo", [] { return echo_with(100); }},
    workload{"echo_5000", [] { return echo_with(5'000); }},
};

}  // namespace

std::span<workload const> network_workloads() { return workloads; }
