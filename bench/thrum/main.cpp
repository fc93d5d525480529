// The bench program on thrum. It uses only the public interface.
#include "../common.h"
#include "workloads.h"
#include <thrum/thrum.h>

#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

namespace {

// BENCH_TRACING=recorder, or the name of a file: for bench/harness/tracing.py.
void run_traced(std::function<void()> const& body) {
  char const* const how = std::getenv("BENCH_TRACING");
  if (how == nullptr) return body();
  bool const is_recorder = std::string(how) == "recorder";
  if (is_recorder) {
    thrum::trace::start_recorder();
  } else {
    thrum::trace::start(how);
  }
  body();
  static_cast<void>(is_recorder ? thrum::trace::stop_recorder() : thrum::trace::stop());
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<bench::workload> all;
  for (auto const& theme : {task_workloads(), channel_workloads(), pipeline_workloads(), time_workloads(),
                            kernel_workloads(), pause_workloads(), network_workloads()}) {
    all.insert(all.end(), theme.begin(), theme.end());
  }
  return bench::command(argc, argv, "thrum", all, [](int procs, auto const& body) {
    thrum::run([&] { run_traced(body); }, thrum::options{.max_procs = procs});
  });
}
