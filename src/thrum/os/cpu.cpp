#include "os/cpu.h"

#include "os/cgroup.h"
#include "os/fault.h"
#include "os/text_file.h"

#include <bit>
#include <cmath>
#include <cstddef>
#include <string>

#include <errno.h>
#include <sched.h>
#include <unistd.h>

namespace thrum::rt::os {
namespace {

// Reads a file to its end, because mountinfo grows with the number of mounts. Returns "" if the file cannot be read.
std::string whole_file(char const* path) {
  std::string text;
  int const descriptor = open_for_reading(path);
  if (descriptor < 0) return text;
  char buffer[4096];
  long got = 0;
  while ((got = read_some(descriptor, buffer, sizeof buffer)) > 0) {
    text.append(buffer, static_cast<std::size_t>(got));
  }
  close_descriptor(descriptor);
  if (got < 0) text.clear();
  return text;
}

}  // namespace

int cpus_by_affinity() noexcept {
  // 65,536 CPUs are eight times as many as Linux can be configured for, so there is no need to retry with a larger
  // mask.
  unsigned long mask[1024] = {};
  int injected = 0;
  if (!should_fail(call::sched_getaffinity, injected) &&
      ::sched_getaffinity(0, sizeof mask, reinterpret_cast<cpu_set_t*>(mask)) == 0) {
    int count = 0;
    for (unsigned long const word : mask) count += std::popcount(word);
    if (count > 0) return count;
  }
  long const online = ::sysconf(_SC_NPROCESSORS_ONLN);
  return online > 0 ? static_cast<int>(online) : 1;
}

int cpus_under_quota(int cpus, std::optional<double> quota) noexcept {
  if (!quota || !(*quota < cpus)) return cpus;
  int const rounded_up = static_cast<int>(std::ceil(*quota));
  int const limit = rounded_up > 2 ? rounded_up : 2;  // 2: Go's minimum
  return limit < cpus ? limit : cpus;
}

int available_cpus() noexcept {
  int const cpus = cpus_by_affinity();
  try {
    std::string const cgroups = whole_file("/proc/self/cgroup");
    std::string const mounts = whole_file("/proc/self/mountinfo");
    return cpus_under_quota(cpus, cgroup_quota("", cgroups.c_str(), mounts.c_str()));
  } catch (...) {  // there is no memory for the texts, so only the affinity mask counts
    return cpus;
  }
}

}  // namespace thrum::rt::os
