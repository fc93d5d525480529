// The workloads of the bench program on thrum: one function per topic and file.
#pragma once

#include "../common.h"

#include <span>

std::span<bench::workload const> task_workloads();
std::span<bench::workload const> channel_workloads();
std::span<bench::workload const> pipeline_workloads();
std::span<bench::workload const> time_workloads();
std::span<bench::workload const> kernel_workloads();
std::span<bench::workload const> pause_workloads();
std::span<bench::workload const> network_workloads();
