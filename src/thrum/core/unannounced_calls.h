// Calls that were not announced, in which a goroutine slept so long that sysmon took its P (sys/unannounced.h): how
// often that happened, where, and how many threads have come to run user code without a P because of it.
#pragma once

#include "base/atomic.h"
#include "core/counters.h"
#include "os/lock.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace thrum::rt {

struct blocking_site {
  long call = -1;             // the number of the system call
  std::uintptr_t caller = 0;  // in the program; 0: not found
  std::uint64_t count = 0;
};

// The first 32 different sites. Further ones are dropped; unannounced_calls::count counts all of them together.
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

class unannounced_calls {
 public:
  // On sysmon's thread: it is about to tell an M that it has taken its P. relaxed: the number is a hint.
  void p_is_taken() noexcept {
    without_p_.fetch_add(1, relaxed);
    rt::count(count);
  }
  // The M has a P again. On its own thread.
  void p_is_back() noexcept { without_p_.fetch_sub(1, relaxed); }
  // How many Ms have not come back for a P.
  [[nodiscard]] std::int32_t without_p() const noexcept { return without_p_.load(relaxed); }

  // On sysmon's thread: where the goroutine is whose P it has taken.
  void add_site(long call, std::uintptr_t caller) noexcept {
    os::lock_guard const guard(lock_);
    sites_.add(call, caller);
  }
  // Any thread, inside the runtime.
  [[nodiscard]] blocking_sites sites() noexcept {
    os::lock_guard const guard(lock_);
    return sites_;
  }

  // A resident, which does not leave its thread, has announced a call. From then on sysmon also looks at threads in
  // announced calls (sys/without_p.h). Any thread; relaxed: sysmon may see it late.
  void note_call_of_resident() noexcept { residents_announce_.store(true, relaxed); }
  [[nodiscard]] bool residents_announce() const noexcept { return residents_announce_.load(relaxed); }

  counter count;  // written by sysmon

 private:
  atomic<std::int32_t> without_p_{0};
  atomic<bool> residents_announce_{false};
  os::lock lock_{lock_rank::leaf};
  blocking_sites sites_;  // under lock_
};

}  // namespace thrum::rt
