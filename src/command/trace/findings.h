// What is wrong with a trace file, in sentences. The number of kept sentences is bounded, because a damaged file may
// give millions of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace thrum::command {

class findings {
 public:
  static constexpr std::size_t kept_max = 200;

  // `make` returns the sentence. It is called only if the sentence is kept.
  template <class Make>
  void add(Make&& make) {
    if (count_++ < kept_max) kept_.push_back(std::forward<Make>(make)());
  }

  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] std::vector<std::string> const& kept() const noexcept { return kept_; }

 private:
  std::uint64_t count_ = 0;
  std::vector<std::string> kept_;
};

}  // namespace thrum::command
