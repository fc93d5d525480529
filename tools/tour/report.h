// What the scheduler did, per P: a table and a bar chart.
#pragma once

#include "screen.h"
#include <thrum/runtime.h>

#include <vector>

namespace tour {

void show_table(screen& to, std::vector<thrum::proc_stats> const& procs);
void show_chart(screen& to, std::vector<thrum::proc_stats> const& procs);

}  // namespace tour
