// The goroutines of a run in groups: those that were created at the same place and are in the same state for the same
// reason. For requests from outside.
//
// No goroutine is stopped for it, and a hundred thousand of them take a few milliseconds. So a group is exact only if
// its goroutines do not change meanwhile.
#pragma once

#include "core/sched.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace thrum::rt {

struct origin_group {
  std::uint64_t count = 0;
  std::int64_t longest_ns = 0;    // the longest wait that is known; waits for mutexes are, others after some seconds
  std::uintptr_t created_at = 0;  // 0: the main goroutine
  g_status status = g_status::idle;
  wait_reason reason = wait_reason::none;
};

// On a thread that is no M, and that the run waits for. The largest groups come first. Allocates.
[[nodiscard]] std::vector<origin_group> groups_by_origin(Sched& s);

// Names of places in the program, as "function (file:line)". Those that were asked for once are kept.
class place_names {
 public:
  // Fills in what is missing for these groups. Takes the loader's lock.
  void learn(std::vector<origin_group> const& groups);
  [[nodiscard]] std::string const& of(std::uintptr_t created_at) const { return known_.at(created_at); }

 private:
  std::unordered_map<std::uintptr_t, std::string> known_;
};

}  // namespace thrum::rt
