// A set of buckets in which calls have to be woken, one bit for each. Any thread adds buckets to it, and the thread
// that polls takes them out. The buckets have numbers from 0 on.
#pragma once

#include "base/atomic.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace thrum::posix {

template <std::size_t Buckets>
class bucket_set {
 public:
  void add(std::size_t bucket) noexcept {
    words_[bucket / bits].fetch_or(std::uint64_t{1} << bucket % bits, rt::release);  // pairs with take_each
  }
  // Empties the set, and calls visit(bucket) for each one that was in it.
  template <class F>
  void take_each(F visit) noexcept {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      std::uint64_t noted = words_[i].exchange(0, rt::acquire);  // pairs with add
      for (; noted != 0; noted &= noted - 1) visit(i * bits + static_cast<std::size_t>(__builtin_ctzll(noted)));
    }
  }
  // In a child of fork, which has only one thread.
  void clear() noexcept {
    for (auto& each : words_) each.store(0, rt::relaxed);
  }

 private:
  static constexpr std::size_t bits = 64;
  static_assert(Buckets % bits == 0);
  std::array<rt::atomic<std::uint64_t>, Buckets / bits> words_{};
};

}  // namespace thrum::posix
