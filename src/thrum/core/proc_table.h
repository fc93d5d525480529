// The table of Ps (S03, S23). The Ps in use are the first size() of all that were ever made.
//
// Their number changes only while the world is stopped (sched/world.h). A thread that does not run goroutines, such as
// sysmon, may read the table at any time, because a P is not destroyed before its run is, and a P that is not in use is
// empty.
#pragma once

#include "base/atomic.h"
#include "base/limits.h"

#include <array>
#include <cstdint>
#include <span>

namespace thrum::rt {

struct P;

class proc_table {
 public:
  // The number of Ps in use.
  [[nodiscard]] int size() const noexcept { return size_.load(relaxed); }
  [[nodiscard]] P* operator[](std::size_t index) const noexcept { return all_[index]; }
  [[nodiscard]] P* const* begin() const noexcept { return all_.data(); }
  // acquire pairs with set_size: the Ps are in the table.
  [[nodiscard]] P* const* end() const noexcept { return all_.data() + size_.load(acquire); }

  // All Ps, including those that are not in use, because their counters count too.
  [[nodiscard]] std::span<P* const> all() const noexcept {
    return {all_.data(), static_cast<std::size_t>(made_.load(acquire))};  // pairs with add
  }

  // Called by one thread at a time.
  void add(P& made) noexcept {
    int const index = made_.load(relaxed);
    all_[static_cast<std::size_t>(index)] = &made;
    made_.store(index + 1, release);  // pairs with all()
  }
  void set_size(int size) noexcept { size_.store(size, release); }

 private:
  friend struct debugger_rows;

  atomic<std::int32_t> size_{0};
  atomic<std::int32_t> made_{0};
  std::array<P*, procs_max> all_{};
};

}  // namespace thrum::rt
