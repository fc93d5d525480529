// Which M runs which goroutine. A G does not know it, and there may be thousands of both, so a report that needs it for
// many goroutines notes all Ms once and sorts them. The memory is mapped, because nothing may be allocated under a lock
// of the scheduler (T01).
#pragma once

#include "core/sched.h"
#include "os/memory.h"

#include <algorithm>
#include <cstddef>
#include <functional>

namespace thrum::rt {

class ms_of_gs {
 public:
  // Has room for so many Ms, or for none if there is no memory.
  explicit ms_of_gs(std::size_t ms_max) noexcept
      : bytes_(ms_max * sizeof(g_on_m)), pairs_(reinterpret_cast<g_on_m*>(os::map(bytes_).address)), room_(ms_max) {}
  ~ms_of_gs() {
    if (pairs_ != nullptr) os::unmap(reinterpret_cast<char*>(pairs_), bytes_);
  }
  ms_of_gs(ms_of_gs const&) = delete;
  ms_of_gs& operator=(ms_of_gs const&) = delete;

  [[nodiscard]] bool has_memory() const noexcept { return pairs_ != nullptr; }
  void note(G const* g, M const& m) noexcept {
    if (g != nullptr && pairs_ != nullptr && count_ < room_) pairs_[count_++] = {g, &m};
  }
  // After the last note, and before the first m_of.
  void sort() noexcept { std::sort(pairs_, pairs_ + count_, is_before); }
  // Returns nullptr if no M runs g.
  [[nodiscard]] M const* m_of(G const& g) const noexcept {
    g_on_m const* const found = std::lower_bound(pairs_, pairs_ + count_, g_on_m{&g, nullptr}, is_before);
    return found != pairs_ + count_ && found->g == &g ? found->m : nullptr;
  }

 private:
  struct g_on_m {
    G const* g;
    M const* m;
  };
  static bool is_before(g_on_m const& a, g_on_m const& b) noexcept { return std::less<>{}(a.g, b.g); }

  std::size_t const bytes_;
  g_on_m* const pairs_;
  std::size_t const room_;
  std::size_t count_ = 0;
};

}  // namespace thrum::rt
