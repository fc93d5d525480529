// The programs of examples/ do what their comments say. They are built beside the tests; where they are not (examples
// switched off), this is skipped, visibly.
#include "support/child.h"

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

namespace {

using thrum::test::outcome;

std::filesystem::path path_of(std::string const& name) {
  return thrum::test::this_program().parent_path() / ("example_" + name);
}

// At P=1 and as many Ps as the machine likes, and more.
class examples : public testing::TestWithParam<char const*> {
 protected:
  static outcome run_example(std::string const& name) {
    return thrum::test::run_program(path_of(name),
                                    {.arguments = "", .environment = "THRUM_MAXPROCS=" + std::string(GetParam())});
  }
};

INSTANTIATE_TEST_SUITE_P(at, examples, testing::Values("1", "2", "8"),
                         [](auto const& procs) { return "P" + std::string(procs.param); });

#define THRUM_NEEDS_EXAMPLE(name) \
  if (!std::filesystem::exists(path_of(name))) GTEST_SKIP() << path_of(name) << " was not built"

TEST_P(examples, hello) {
  THRUM_NEEDS_EXAMPLE("hello");
  outcome const seen = run_example("hello");
  EXPECT_EQ(seen.code, 0) << seen.text;
  for (char const* const line : {"hello from goroutine 1\n", "hello from goroutine 2\n", "hello from goroutine 3\n"}) {
    EXPECT_NE(seen.text.find(line), std::string::npos) << seen.text;
  }
  std::string const last = "hello from main\n";
  EXPECT_EQ(seen.text.size() - last.size(), seen.text.find(last)) << seen.text;
}

TEST_P(examples, fib) {
  THRUM_NEEDS_EXAMPLE("fib");
  outcome const seen = run_example("fib");
  EXPECT_EQ(seen.code, 0) << seen.text;
  EXPECT_EQ(seen.text.find("fib(27) = 196418, in "), 0U) << seen.text;
  EXPECT_NE(seen.text.find("on " + std::string(GetParam()) + " processors"), std::string::npos) << seen.text;
}

TEST_P(examples, parallel_sum) {
  THRUM_NEEDS_EXAMPLE("parallel_sum");
  outcome const seen = run_example("parallel_sum");
  EXPECT_EQ(seen.code, 0) << seen.text;
  EXPECT_EQ(seen.text, "1 + 2 + ... + 10000000 = 50000005000000\n");
}

}  // namespace
