// CPU profiles of goroutines in calls that thrum::posix replaces.
#include "debug/symbols.h"
#include "profile/burn.h"
#include "profile/profile_reader.h"
#include "support/hogs.h"
#include "support/run_at.h"
#include "sys/cpu_samples.h"
#include <thrum/profile.h>
#include <thrum/thrum.h>

#include <chrono>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using test::profile_sample;

// The kernel computes, on behalf of the goroutine.
[[gnu::noinline]] void read_zeroes(int fd, std::vector<char>& to) {
  auto const until = test::cpu_time_of_thread() + 300ms;
  while (test::cpu_time_of_thread() < until) static_cast<void>(::read(fd, to.data(), to.size()));
}

TEST(posix_profiles, samples_land_in_the_goroutine_that_makes_the_call) {
  if (!rt::stacks_can_be_sampled() || !rt::symbols().reads_files()) GTEST_SKIP() << "no names of functions to look for";
  int const fd = ::open("/dev/zero", O_RDONLY | O_CLOEXEC);
  ASSERT_LE(0, fd);
  test::run_at(1, [&] {
    std::vector<char> room(std::size_t{1} << 20U);
    std::uint64_t id = 0;
    profile::start_cpu({.per_second = 1000});
    spawn([&] {
      id = this_goroutine::id();
      read_zeroes(fd, room);
    }).join();
    auto const made = test::read_profile(profile::stop_cpu());
    EXPECT_LT(50, test::percent_of(made, [&](profile_sample const& s) {
                return s.has("read_zeroes") && s.label("goroutine") == std::to_string(id);
              }));
  });
  ::close(fd);
}

}  // namespace
}  // namespace thrum
