// The scheduler's random choices: a generator, of which each P has one, and a random order that visits every P once.
//
// Nothing here allocates or takes a lock. No object may be used by two threads at once.
#pragma once

#include "base/limits.h"

#include <array>
#include <cstdint>
#include <numeric>

namespace thrum::rt {

// wyrand's step: a multiplication of 64 by 64 bits whose halves are combined by exclusive or. It takes a few cycles,
// passes the usual test batteries and works with any seed. It is not for secrets. `THRUM_DEBUG=seed=N` fixes the seeds
// of all Ps.
class random_source {
 public:
  explicit random_source(std::uint64_t seed) noexcept : state_(seed) {}

  std::uint64_t next() noexcept {
    state_ += 0xa0761d6478bd642fULL;
    __extension__ using wide = unsigned __int128;
    auto const product = static_cast<wide>(state_) * (state_ ^ 0xe7037ed1a0b428dbULL);
    return static_cast<std::uint64_t>(product >> 64U) ^ static_cast<std::uint64_t>(product);
  }

  // A number in [0, bound). The bias is bound / 2^32, which is small enough for scheduling.
  std::uint32_t below(std::uint32_t bound) noexcept {
    return static_cast<std::uint32_t>(((next() >> 32U) * bound) >> 32U);
  }

 private:
  std::uint64_t state_;
};

// The steps that are coprime to a count. Walking with such a step, modulo the count, visits each of 0..count-1 exactly
// once from any start (Go's randomOrder). They are computed once, when the number of Ps is set.
class coprime_steps {
 public:
  explicit coprime_steps(std::uint32_t count) noexcept : count_(count) {
    for (std::uint32_t step = 1; step <= count; ++step) {
      if (std::gcd(step, count) == 1) steps_[size_++] = static_cast<std::uint16_t>(step);
    }
  }
  [[nodiscard]] std::uint32_t count() const noexcept { return count_; }
  [[nodiscard]] std::uint32_t size() const noexcept { return size_; }
  [[nodiscard]] std::uint32_t operator[](std::uint32_t index) const noexcept { return steps_[index]; }

 private:
  std::uint32_t count_;
  std::uint32_t size_ = 0;
  std::array<std::uint16_t, procs_max> steps_{};
};

// One walk over all Ps. Each value of `random` below count() * size() gives a different pair of start and step.
class random_order {
 public:
  random_order(coprime_steps const& steps, std::uint32_t random) noexcept
      : count_(steps.count()), left_(count_), at_(random % count_), step_(steps[random / count_ % steps.size()]) {}

  [[nodiscard]] bool done() const noexcept { return left_ == 0; }
  [[nodiscard]] std::uint32_t position() const noexcept { return at_; }
  [[nodiscard]] std::uint32_t step() const noexcept { return step_; }
  void advance() noexcept {
    --left_;
    at_ = (at_ + step_) % count_;
  }

 private:
  std::uint32_t count_;
  std::uint32_t left_;
  std::uint32_t at_;
  std::uint32_t step_;
};

}  // namespace thrum::rt
