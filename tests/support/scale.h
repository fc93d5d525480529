// How much work a test does. THRUM_TEST_SCALE multiplies the counts of long loops; it is 0.1 under the sanitizers.
// THRUM_TEST_LONG asks for the long form of stress tests.
#pragma once

#include <cstdint>

namespace thrum::test {

// `count` times THRUM_TEST_SCALE (default 1), at least `at_least`.
[[nodiscard]] std::int64_t scaled(std::int64_t count, std::int64_t at_least = 1);

[[nodiscard]] bool is_long();

}  // namespace thrum::test
