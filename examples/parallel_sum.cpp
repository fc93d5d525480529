// The sum of a large vector, by halves: each half that is large enough becomes a goroutine. The code does not depend on
// the number of Ps, because idle Ps steal the larger halves.
#include <thrum/thrum.h>

#include <cstdint>
#include <cstdio>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace {

std::uint64_t sum(std::span<std::uint32_t const> part) {
  constexpr std::size_t small = 16 * 1024;  // below this size a goroutine does not pay
  if (part.size() <= small) return std::accumulate(part.begin(), part.end(), std::uint64_t{0});
  auto const [first, second] = std::pair(part.first(part.size() / 2), part.subspan(part.size() / 2));
  auto left = thrum::spawn(sum, first);
  std::uint64_t const right = sum(second);
  return left.join() + right;
}

}  // namespace

int main() {
  std::vector<std::uint32_t> numbers(10'000'000);
  std::iota(numbers.begin(), numbers.end(), 1U);
  return thrum::run([&] {
    std::uint64_t const total = sum(numbers);
    std::printf("1 + 2 + ... + %zu = %llu\n", numbers.size(), static_cast<unsigned long long>(total));
    std::uint64_t const expected = std::uint64_t{numbers.size()} * (numbers.size() + 1) / 2;
    return total == expected ? 0 : 1;
  });
}
