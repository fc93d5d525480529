// The load of `echo` for the C++ programs: runs the fixed client (echo_client/) and reads its output. It does not
// depend on a runtime.
#pragma once

#include "common.h"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <sys/resource.h>

namespace bench {

inline constexpr int echo_load_s = 3;

// The output of the client, its exit status, and the CPU time that this process used meanwhile.
struct echo_report {
  double requests_per_s = 0;
  double p50_us = 0;
  double p99_us = 0;
  double cpu_us = 0;
  int fields = 0;
  int status = 0;

  // Ends the program if the client failed. The client fails on a wrong answer, an error, or a connection that was never
  // served.
  std::vector<figure> figures() const {
    check("the client's exit status", status, 0);
    check("figures of the client", fields, 3);
    double const requests = requests_per_s * echo_load_s * 1.1;  // the warm-up of the client is a tenth of its load
    return {{"", requests_per_s / 1e3, "k requests/s"},
            {"_p50", p50_us, "us"},
            {"_p99", p99_us, "us"},
            {"_cpu", cpu_us / requests, "us CPU/request"}};
  }
};

// Raises the limit of descriptors to the maximum, because 5,000 connections are more than the usual limit.
inline void allow_many_files() {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
}

// Runs the client to its end.
inline void read_report(std::string const& command, echo_report& said) {
  std::FILE* const output = ::popen(command.c_str(), "r");
  if (output == nullptr) {
    fail(1, "cannot start the client");
  }
  said.fields = std::fscanf(output, "%lf requests/s p50 %lf p99 %lf", &said.requests_per_s, &said.p50_us, &said.p99_us);
  while (std::fgetc(output) != EOF) {
  }
  said.status = ::pclose(output);
}

// Blocks the calling thread for the duration of the load, about 3 s.
inline echo_report run_echo_client(unsigned port, int connections) {
  char const* const client = std::getenv("BENCH_ECHO_CLIENT");
  if (client == nullptr) {
    fail(2, "BENCH_ECHO_CLIENT must name the program bench_echo_client");
  }
  std::string const command = "taskset -c 0 '" + std::string(client) + "' 127.0.0.1 " + std::to_string(port) + ' ' +
                              std::to_string(connections) + " 64 " + std::to_string(echo_load_s);
  echo_report said;
  said.cpu_us = cpu_nanoseconds_of([&] { read_report(command, said); }) / 1e3;
  return said;
}

}  // namespace bench
