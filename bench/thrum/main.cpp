// The bench program on thrum, through its public face alone.
#include "../common.h"
#include "workloads.h"
#include <thrum/thrum.h>

int main(int argc, char** argv) {
  return bench::command(argc, argv, "thrum", task_workloads(),
                        [](int procs, auto const& body) { thrum::run(body, thrum::options{.max_procs = procs}); });
}
