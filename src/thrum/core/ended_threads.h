// Foreign threads that used a run and are about to end. As long as the kernel lists such a thread, it looks like one
// that could wake the goroutines that wait (sched/deadlock.h).
#pragma once

#include <array>
#include <cstddef>

namespace thrum::rt {

class ended_threads {
 public:
  // If there are too many, the last ones are dropped. Then a deadlock may be reported later, or not at all.
  void add(int tid) noexcept {
    if (count_ < all_.size()) all_[count_++] = tid;
  }

  void take_from(ended_threads& other) noexcept {
    for (std::size_t i = 0; i < other.count_; ++i) add(other.all_[i]);
    other.count_ = 0;
  }

  // Drops the threads for which `is_gone` is true, and returns how many there were.
  template <class F>
  std::size_t forget_if(F is_gone) noexcept {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      if (!is_gone(all_[i])) all_[kept++] = all_[i];
    }
    std::size_t const forgotten = count_ - kept;
    count_ = kept;
    return forgotten;
  }

  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }

 private:
  std::array<int, 16> all_{};
  std::size_t count_ = 0;
};

}  // namespace thrum::rt
