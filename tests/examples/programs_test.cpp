// The programs of examples/ do what their comments say. They are built beside the tests; where they are not (examples
// switched off), this is skipped, visibly.
#include "support/child.h"
#include "support/hogs.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
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
  static outcome run_example(std::string const& name, std::string const& arguments = "") {
    return thrum::test::run_program(
        path_of(name), {.arguments = arguments, .environment = "THRUM_MAXPROCS=" + std::string(GetParam())});
  }
};

INSTANTIATE_TEST_SUITE_P(at, examples, testing::Values("1", "2", "8"),
                         [](auto const& procs) { return "P" + std::string(procs.param); });

#define THRUM_NEEDS_EXAMPLE(name) \
  if (!std::filesystem::exists(path_of(name))) GTEST_SKIP() << path_of(name) << " was not built"

class endless_loops : public testing::TestWithParam<char const*> {};
INSTANTIATE_TEST_SUITE_P(built_with, endless_loops, testing::Values("", "_O0", "_O1", "_O3", "_flto"),
                         [](auto const& level) { return std::string("as_usual") + level.param; });

// S18: the seed's own program.
TEST_P(endless_loops, S18_the_seeds_own_program_ends) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  std::string const name = std::string("endless_loop") + GetParam();
  THRUM_NEEDS_EXAMPLE(name);
  outcome const seen = thrum::test::run_program(path_of(name), {.arguments = "", .environment = "THRUM_DEBUG="});
  EXPECT_EQ(seen.code, 0);
  EXPECT_EQ(seen.text, "Done\n");
}

TEST_P(examples, echo) {
  THRUM_NEEDS_EXAMPLE("echo");
  outcome const seen = run_example("echo", "20 50");
  EXPECT_EQ(seen.code, 0) << seen.text;
  EXPECT_EQ(seen.text, "20 clients had 1000 messages answered\n");
}

TEST_P(examples, posix_library) {
  THRUM_NEEDS_EXAMPLE("posix_library");
  outcome const seen = run_example("posix_library");
  EXPECT_EQ(seen.code, 0) << seen.text;
  EXPECT_EQ(seen.text, "200 clients had 600 questions answered, on few threads\n");
}

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

TEST_P(examples, sieve) {
  THRUM_NEEDS_EXAMPLE("sieve");
  outcome const seen = run_example("sieve");
  EXPECT_EQ(seen.code, 0) << seen.text;
  EXPECT_EQ(seen.text,
            "2\n3\n5\n7\n11\n13\n17\n19\n23\n29\n31\n37\n41\n43\n47\n53\n59\n61\n67\n71\n73\n79\n83\n89\n97\n");
}

TEST_P(examples, pipeline) {
  THRUM_NEEDS_EXAMPLE("pipeline");
  outcome const seen = run_example("pipeline");
  EXPECT_EQ(seen.code, 0) << seen.text;
  EXPECT_EQ(seen.text.find("1, all in all 1\n4, all in all 5\n9, all in all 14\n"), 0U) << seen.text;
  std::string const last = "196, all in all 1015\nevery stage has ended\n";
  EXPECT_EQ(seen.text.size() - last.size(), seen.text.find(last)) << seen.text;
}

TEST_P(examples, worker_pool) {
  THRUM_NEEDS_EXAMPLE("worker_pool");
  outcome const seen = run_example("worker_pool");
  EXPECT_EQ(seen.code, 0) << seen.text;
  EXPECT_EQ(seen.text, "41538 primes below 500000\n");
}

// What one of the subscribers printed, in its order.
std::string lines_of(std::string const& name, std::string const& text) {
  std::istringstream in(text);
  std::string found;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(name)) found += line + "\n";
  }
  return found;
}

TEST_P(examples, pub_sub) {
  THRUM_NEEDS_EXAMPLE("pub_sub");
  outcome const seen = run_example("pub_sub");
  EXPECT_EQ(seen.code, 0) << seen.text;
  EXPECT_EQ(lines_of("anna", seen.text), "anna: channels have landed\nanna: so have contexts\nanna: the end\n");
  EXPECT_EQ(lines_of("bert", seen.text), "bert: channels have landed\nbert: the end\n");
}

TEST_P(examples, rate_limiter) {
  THRUM_NEEDS_EXAMPLE("rate_limiter");
  outcome const seen = run_example("rate_limiter");
  EXPECT_EQ(seen.code, 0) << seen.text;
  std::istringstream in(seen.text);
  int requests = 0;
  std::string line;
  while (std::getline(in, line) && line.starts_with("request ")) {
    int number = 0;
    int after_ms = 0;
    ASSERT_EQ(std::sscanf(line.c_str(), "request %d after %d ms", &number, &after_ms), 2) << line;
    EXPECT_EQ(number, ++requests);
    EXPECT_GE(after_ms, (number - 3) * 20) << seen.text;
  }
  EXPECT_GE(requests, 3) << seen.text;
  EXPECT_TRUE(line.starts_with("context deadline exceeded after ")) << seen.text;
}

TEST_P(examples, walk) {
  THRUM_NEEDS_EXAMPLE("walk");
  namespace fs = std::filesystem;
  fs::path const root = fs::path(testing::TempDir()) / ("thrum_walk_" + std::string(GetParam()));
  fs::remove_all(root);
  int files = 0;
  int bytes = 0;
  for (int i = 0; i < 30; ++i) {
    fs::path const directory = root / std::to_string(i % 5) / std::to_string(i);
    fs::create_directories(directory);
    for (int k = 0; k < i % 4; ++k) {
      std::ofstream(directory / ("file" + std::to_string(k))) << std::string(static_cast<std::size_t>(10 * i), 'x');
      ++files;
      bytes += 10 * i;
    }
  }
  outcome const seen = run_example("walk", root.string());
  EXPECT_EQ(seen.code, 0) << seen.text;
  std::string const last = std::to_string(files) + " files, " + std::to_string(bytes) + " bytes\n";
  EXPECT_TRUE(seen.text.ends_with(last)) << seen.text << "instead of " << last;
  fs::remove_all(root);
}

}  // namespace
