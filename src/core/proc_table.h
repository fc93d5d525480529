// The Ps (S03, S23): those in use are the first so many of all that were ever made.
//
// Their number changes only while the world is stopped (sched/world.h). But whoever does not run goroutines, sysmon for
// example, may look at any time: a P is never destroyed before its run is, and one that is not in use has nothing in it.
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
  // In use now.
  [[nodiscard]] int size() const noexcept { return size_.load(relaxed); }
  [[nodiscard]] P* operator[](std::size_t index) const noexcept { return all_[index]; }
  [[nodiscard]] P* const* begin() const noexcept { return all_.data(); }
  [[nodiscard]] P* const* end() const noexcept {
    return all_.data() + size_.load(acquire);
  }  // pairs with set_size: they are there

  // Also those that were: their counters still count.
  [[nodiscard]] std::span<P* const> all() const noexcept {
    return {all_.data(), static_cast<std::size_t>(made_.load(acquire))};  // pairs with add
  }

  // By one at a time.
  void add(P& made) noexcept {
    int const index = made_.load(relaxed);
    all_[static_cast<std::size_t>(index)] = &made;
    made_.store(index + 1, release);
  }
  void set_size(int size) noexcept { size_.store(size, release); }

 private:
  atomic<std::int32_t> size_{0};
  atomic<std::int32_t> made_{0};
  std::array<P*, procs_max> all_{};
};

}  // namespace thrum::rt
