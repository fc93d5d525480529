// A TCP echo server on loopback, under the load of the fixed client (bench/echo_client).
#include "../common.h"
#include "workloads.h"
#include <thrum/thrum.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <sys/resource.h>

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

// What the client says; it fails on a wrong answer, an error or a connection that was never served.
struct client_report {
  double requests_per_s = 0;
  double p50_us = 0;
  double p99_us = 0;
};

client_report run_client(unsigned port, int connections) {
  char const* const client = std::getenv("BENCH_ECHO_CLIENT");
  if (client == nullptr) {
    bench::fail(2, "BENCH_ECHO_CLIENT must name the program bench_echo_client");
  }
  std::string const command = "taskset -c 0 '" + std::string(client) + "' 127.0.0.1 " + std::to_string(port) + ' ' +
                              std::to_string(connections) + " 64 3";
  client_report said;
  int status = 0;
  int fields = 0;
  thrum::blocking(
      [&] {
        std::FILE* const output = ::popen(command.c_str(), "r");
        if (output != nullptr) {
          fields =
              std::fscanf(output, "%lf requests/s p50 %lf p99 %lf", &said.requests_per_s, &said.p50_us, &said.p99_us);
          while (std::fgetc(output) != EOF) {
          }
          status = ::pclose(output);
        }
      },
      thrum::blocking_hint::long_call);
  bench::check("the client's exit status", status, 0);
  bench::check("figures of the client", fields, 3);
  return said;
}

std::vector<figure> echo_with(int connections) {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  auto listener = thrum::tcp_listener::listen("127.0.0.1:0");
  auto server = thrum::spawn([&] { serve(listener); });
  client_report const said = run_client(listener.local_endpoint().port(), connections);
  listener.close();
  server.join();
  return {{"", said.requests_per_s / 1e3, "k requests/s"}, {"_p50", said.p50_us, "us"}, {"_p99", said.p99_us, "us"}};
}

constexpr std::array workloads{
    workload{"echo", [] { return echo_with(100); }},
    workload{"echo_5000", [] { return echo_with(5'000); }},
};

}  // namespace

std::span<workload const> network_workloads() { return workloads; }
