#include "os/env.h"

#include <cstdlib>
#include <limits>
#include <string>

#include <gtest/gtest.h>

namespace thrum::rt::os {
namespace {

constexpr std::int64_t untouched = -12345;

std::int64_t setting(char const* list, char const* key) {
  std::int64_t value = untouched;
  bool const found = debug_setting(list, key, value);
  EXPECT_EQ(found, value != untouched) << list;
  return value;
}

TEST(environment, tells_what_is_set_and_what_is_not) {
  ASSERT_EQ(setenv("THRUM_ENV_TEST", "here", 1), 0);
  EXPECT_STREQ(environment("THRUM_ENV_TEST"), "here");
  ASSERT_EQ(unsetenv("THRUM_ENV_TEST"), 0);
  EXPECT_EQ(environment("THRUM_ENV_TEST"), nullptr);
}

TEST(debug_setting, is_found_wherever_it_stands) {
  EXPECT_EQ(setting("seed=7", "seed"), 7);
  EXPECT_EQ(setting("seed=7,crash=1,x=0", "seed"), 7);
  EXPECT_EQ(setting("crash=1,seed=7,x=0", "seed"), 7);
  EXPECT_EQ(setting("crash=1,seed=7", "seed"), 7);
}

TEST(debug_setting, may_be_negative_and_as_large_as_64_bits) {
  EXPECT_EQ(setting("seed=-7", "seed"), -7);
  EXPECT_EQ(setting("seed=9223372036854775807", "seed"), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(setting("seed=-9223372036854775808", "seed"), std::numeric_limits<std::int64_t>::min());
}

TEST(debug_setting, the_last_entry_of_a_key_counts) {
  EXPECT_EQ(setting("seed=1,seed=2", "seed"), 2);
  EXPECT_EQ(setting("seed=1,seed=", "seed"), untouched);
}

TEST(debug_setting, keys_are_compared_whole) { EXPECT_EQ(setting("seeds=1,see=2,xseed=3", "seed"), untouched); }

TEST(debug_setting, malformed_input_answers_false) {
  for (char const* list : {"", "seed", "seed=", "seed=x", "seed=7x", "seed= 7", "seed=7 ", "seed=+7", "seed=--7",
                           "seed==7", "=7", ",", ",,,", " seed=7", "seed=0x10", "seed=1.5", "SEED=7",
                           "seed=9223372036854775808", "seed=99999999999999999999999"}) {
    EXPECT_EQ(setting(list, "seed"), untouched) << list;
  }
  std::int64_t value = untouched;
  EXPECT_FALSE(debug_setting(nullptr, "seed", value));
  EXPECT_FALSE(debug_setting("=7", "", value));
  EXPECT_EQ(value, untouched);
}

TEST(debug_setting, malformed_neighbours_do_no_harm) { EXPECT_EQ(setting(",,crash,=,seed=7,x=y,", "seed"), 7); }

}  // namespace
}  // namespace thrum::rt::os
