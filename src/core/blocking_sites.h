// The places where goroutines slept in unannounced calls: for read_stats.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace thrum::rt {

struct blocking_site {
  long call = -1;             // the number of the system call
  std::uintptr_t caller = 0;  // in the program; 0: not found
  std::uint64_t count = 0;
};

// The first 32 different sites. Further ones are dropped; Sched::unannounced counts all of them together.
class blocking_sites {
 public:
  void add(long call, std::uintptr_t caller) noexcept {
    for (std::size_t i = 0; i < used_; ++i) {
      if (sites_[i].call == call && sites_[i].caller == caller) {
        ++sites_[i].count;
        return;
      }
    }
    if (used_ < sites_.size()) sites_[used_++] = {call, caller, 1};
  }

  [[nodiscard]] blocking_site const* begin() const noexcept { return sites_.data(); }
  [[nodiscard]] blocking_site const* end() const noexcept { return sites_.data() + used_; }

 private:
  std::array<blocking_site, 32> sites_{};
  std::size_t used_ = 0;
};

}  // namespace thrum::rt
