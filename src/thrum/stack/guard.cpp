#include "stack/guard.h"

#include "base/atomic.h"
#include "base/check.h"
#include "os/memory.h"

#include <cstring>

namespace thrum::rt {
namespace {

constexpr std::size_t mappings_per_guard = 2;  // one for the guard, one for the rest of the arena behind it

// State of the process. All accesses are relaxed, because no other memory is published with any of these words.
enum class trust : std::uint8_t { untried, proven, refuted };
constinit atomic<trust> markers{trust::untried};
constinit atomic<std::size_t> mappings_used{0};
constinit atomic<std::size_t> mappings_default{0};  // half of vm.max_map_count; 0: not read

std::size_t mappings_max(guard_policy const& policy) noexcept {
  if (policy.mappings_max != 0) return policy.mappings_max;
  std::size_t half = mappings_default.load(relaxed);
  if (half == 0) {
    half = os::max_map_count() / 2;
    mappings_default.store(half, relaxed);
  }
  return half;
}

bool install_marker(char* address, std::size_t bytes) noexcept {
  if (markers.load(relaxed) == trust::refuted) return false;
  if (os::guard_install(address, bytes) != 0) return false;
  if (markers.load(relaxed) == trust::untried) {
    markers.store(os::readable(address) ? trust::refuted : trust::proven, relaxed);
  }
  return markers.load(relaxed) == trust::proven;
}

bool reserve_mappings(guard_policy const& policy) noexcept {
  if (mappings_used.fetch_add(mappings_per_guard, relaxed) + mappings_per_guard <= mappings_max(policy)) return true;
  mappings_used.fetch_sub(mappings_per_guard, relaxed);
  return false;
}

}  // namespace

guard_result install_guard(guard_policy const& policy, char* address, std::size_t bytes) noexcept {
  if (policy.allowed == guard_policy::ways::all && install_marker(address, bytes)) return {guard_kind::marker, 0};
  if (!reserve_mappings(policy)) return {guard_kind::none, 0};
  int const error = os::protect_none(address, bytes);
  if (error == 0) return {guard_kind::protection, 0};
  mappings_used.fetch_sub(mappings_per_guard, relaxed);
  return {guard_kind::none, error};
}

void protections_unmapped(std::size_t count) noexcept { mappings_used.fetch_sub(count * mappings_per_guard, relaxed); }

void announce_unguarded(guard_policy const& policy, int error) noexcept {
  std::size_t const guards = mappings_used.load(relaxed) / mappings_per_guard;
  if (error == 0) {
    print_error(
        "thrum: new goroutine stacks have no guard from now on, so an overflow would overwrite the stack below: "
        "%zu are guarded by mprotect, which takes two memory mappings each, and guards may use %zu of the "
        "%zu that vm.max_map_count allows; raise vm.max_map_count, or run Linux 6.13 or newer, "
        "where guards are free",
        guards, mappings_max(policy), os::max_map_count());
  } else {
    print_error(
        "thrum: a new goroutine stack has no guard, so an overflow would overwrite the stack below, and more such "
        "stacks may follow: "
        "mprotect failed with %s after %zu guards, which take two memory mappings each (vm.max_map_count "
        "allows the process %zu); raise vm.max_map_count, or run Linux 6.13 or newer, where guards are free",
        strerrorname_np(error), guards, os::max_map_count());
  }
}

}  // namespace thrum::rt
