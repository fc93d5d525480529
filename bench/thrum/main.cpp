// The bench program on thrum. It uses only the public interface.
#include "../common.h"
#include "workloads.h"
#include <thrum/thrum.h>

#include <vector>

int main(int argc, char** argv) {
  std::vector<bench::workload> all;
  for (auto const& theme : {task_workloads(), channel_workloads(), pipeline_workloads(), time_workloads(),
                            kernel_workloads(), pause_workloads(), network_workloads()}) {
    all.insert(all.end(), theme.begin(), theme.end());
  }
  return bench::command(argc, argv, "thrum", all,
                        [](int procs, auto const& body) { thrum::run(body, thrum::options{.max_procs = procs}); });
}
