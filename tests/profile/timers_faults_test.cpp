// A system that refuses what CPU profiles need.
#include "os/fault.h"
#include "profile/burn.h"
#include "profile/profile_reader.h"
#include "support/run_at.h"
#include <thrum/profile.h>
#include <thrum/thrum.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string>
#include <system_error>

#include <gtest/gtest.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using rt::os::call;

class refused_timers : public testing::Test {
 protected:
  ~refused_timers() override { rt::os::clear_faults(); }
};

TEST_F(refused_timers, make_start_cpu_fail) {
  test::run_at(1, [] {
    rt::os::inject_fault(call::timer, EPERM, 0, rt::os::fault_for_good);
    try {
      profile::start_cpu();
      ADD_FAILURE() << "it has started";
    } catch (std::system_error const& e) {
      EXPECT_EQ(EPERM, e.code().value());
      EXPECT_NE(std::string::npos, std::string(e.what()).find("make a timer")) << e.what();
    }
    EXPECT_EQ("", profile::stop_cpu());
    rt::os::clear_faults();
    profile::start_cpu();
    EXPECT_NE("", profile::stop_cpu());
  });
}

TEST_F(refused_timers, of_some_threads_are_told_in_a_comment) {
  test::run_at(1, [] {
    rt::os::inject_fault(call::timer, EAGAIN, 1, rt::os::fault_for_good);
    profile::start_cpu();
    test::burn_much(100ms);
    auto const made = test::read_profile(profile::stop_cpu());
    auto const tells = [](std::string const& comment) {
      return comment.find("threads are missing, because the system has refused") != std::string::npos;
    };
    EXPECT_EQ(1, std::count_if(made.comments.begin(), made.comments.end(), tells));
  });
}

TEST_F(refused_timers, a_thread_that_cannot_be_made_makes_start_cpu_fail) {
  test::run_at(1, [] {
    rt::os::inject_fault(call::thread_create, EAGAIN);
    EXPECT_THROW(profile::start_cpu(), std::system_error);
    EXPECT_EQ("", profile::stop_cpu());
    profile::start_cpu();
    EXPECT_NE("", profile::stop_cpu());
  });
}

}  // namespace
}  // namespace thrum
