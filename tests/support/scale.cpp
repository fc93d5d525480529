#include "support/scale.h"

#include <algorithm>
#include <cstdlib>

namespace thrum::test {
namespace {

double scale() {
  char const* const text = std::getenv("THRUM_TEST_SCALE");
  double const value = text == nullptr ? 1 : std::strtod(text, nullptr);
  return value > 0 ? value : 1;
}

}  // namespace

std::int64_t scaled(std::int64_t count, std::int64_t at_least) {
  static double const factor = scale();
  return std::max(at_least, static_cast<std::int64_t>(static_cast<double>(count) * factor));
}

bool is_long() {
  char const* const text = std::getenv("THRUM_TEST_LONG");
  return text != nullptr && *text != '\0' && *text != '0';
}

}  // namespace thrum::test
