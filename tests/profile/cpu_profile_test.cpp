// CPU profiles: the samples land where the CPU time is used, whatever runs there, and nothing else is disturbed.
#include "debug/symbols.h"
#include "profile/burn.h"
#include "profile/pprof_tool.h"
#include "profile/profile_reader.h"
#include "support/hogs.h"
#include "support/programs.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/wait_until.h"
#include "support/with_environment.h"
#include "sys/cpu_samples.h"
#include <thrum/profile.h>
#include <thrum/thrum.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using test::burn_little;
using test::burn_much;
using test::percent_in;
using test::percent_of;
using test::profile_sample;
using test::read_profile;
using test::read_profile_result;
using test::run_at;

// A signal comes with each tick of the kernel.
constexpr profile::cpu_options dense{.per_second = 1000};

bool has_stacks() { return rt::stacks_can_be_sampled(); }
bool has_names() { return has_stacks() && rt::symbols().reads_files(); }
#define THRUM_SKIP_WITHOUT_NAMES_OF_SAMPLES() \
  if (!has_names()) GTEST_SKIP() << "no libdw, or no stacks here: no names of functions to look for"

// The profile of f().
template <class F>
read_profile_result profile_while(F f) {
  profile::start_cpu(dense);
  f();
  return read_profile(profile::stop_cpu());
}

TEST(cpu_profile, has_the_types_and_the_period_that_pprof_expects) {
  run_at(2, [] {
    profile::start_cpu();
    burn_much(100ms);
    auto const made = read_profile(profile::stop_cpu());
    using type = read_profile_result::type;
    EXPECT_EQ((std::vector<type>{{"samples", "count"}, {"cpu", "nanoseconds"}}), made.types);
    EXPECT_EQ(type("cpu", "nanoseconds"), made.period_type);
    EXPECT_EQ(10'000'000, made.period);
    EXPECT_LE(100'000'000, made.duration_ns);
    for (profile_sample const& one : made.samples) EXPECT_EQ(one.values[0] * made.period, one.values[1]);
  });
}

TEST(cpu_profile, samples_land_in_the_function_that_computes) {
  THRUM_SKIP_WITHOUT_NAMES_OF_SAMPLES();
  run_at(2, [] {
    auto const made = profile_while([] {
      for (int i = 0; i < 20; ++i) {
        burn_much(30ms);
        burn_little(10ms);
      }
    });
    EXPECT_LT(60, percent_in(made, "burn_much"));
    EXPECT_GT(90, percent_in(made, "burn_much"));
    EXPECT_LT(10, percent_in(made, "burn_little"));
    EXPECT_GT(40, percent_in(made, "burn_little"));
  });
}

TEST(cpu_profile, the_time_is_that_of_the_threads) {
  run_at(2, [] {
    auto const before = test::cpu_time_of_thread();
    auto const made = profile_while([] { blocking([] { burn_much(500ms); }); });
    auto const used = test::cpu_time_of_thread() - before;
    auto const sampled = test::sum_of(made, 1, [](profile_sample const&) { return true; });
    EXPECT_LT(250'000'000, sampled);
    EXPECT_GT(10 * used.count(), sampled);
  });
}

TEST(cpu_profile, goroutines_are_told_apart_by_their_labels) {
  THRUM_SKIP_WITHOUT_NAMES_OF_SAMPLES();
  run_at(2, [] {
    std::uint64_t id = 0;
    auto const made = profile_while([&] {
      auto worker = spawn([&] {
        this_goroutine::set_name("worker");
        id = this_goroutine::id();
        burn_much(300ms);
      });
      auto other = spawn([] { burn_little(100ms); });
      worker.join();
      other.join();
    });
    for (profile_sample const& one : made.samples) {
      if (one.has("burn_much")) {
        EXPECT_EQ(std::to_string(id), one.label("goroutine"));
        EXPECT_EQ("worker", one.label("name"));
        EXPECT_NE(std::string::npos, one.label("created_at").find("cpu_profile_test.cpp:")) << one.label("created_at");
      } else if (one.has("burn_little")) {
        EXPECT_NE(std::to_string(id), one.label("goroutine"));
        EXPECT_EQ("", one.label("name"));
      }
    }
    EXPECT_LT(50, percent_of(made, [](profile_sample const& s) { return s.label("name") == "worker"; }));
  });
}

TEST(cpu_profile, samples_threads_in_calls_and_threads_that_thrum_did_not_make) {
  THRUM_SKIP_WITHOUT_NAMES_OF_SAMPLES();
  run_at(1, [] {
    auto const made = profile_while([] {
      std::thread foreign([] { burn_much(300ms); });
      blocking([&] {
        burn_little(300ms);
        foreign.join();
      });
    });
    EXPECT_LT(25, percent_in(made, "burn_much"));
    EXPECT_LT(25, percent_in(made, "burn_little"));
    for (profile_sample const& one : made.samples) {
      if (one.has("burn_much")) {
        EXPECT_EQ("foreign", one.label("thread"));
        EXPECT_EQ("", one.label("goroutine"));
      } else if (one.has("burn_little")) {
        EXPECT_EQ("1", one.label("goroutine"));
        EXPECT_EQ("", one.label("thread"));
      }
    }
  });
}

// Two functions, so that one sees whose stack is in a sample.
[[gnu::noinline]] void yield_as_even(std::int64_t times) {
  for (std::int64_t i = 0; i < times; ++i) thrum::yield();
  asm volatile("");
}
[[gnu::noinline]] void yield_as_odd(std::int64_t times) {
  for (std::int64_t i = 0; i < times; ++i) thrum::yield();
  asm volatile("# odd");
}

// TR-08. Even and odd goroutines take turns, so a sample in the middle of a switch that were counted for the wrong one
// would have the wrong function.
TEST(cpu_profile, never_sees_a_goroutine_that_is_half_switched) {
  THRUM_SKIP_WITHOUT_NAMES_OF_SAMPLES();
  for (int const procs : {1, 2}) {
    run_at(procs, [] {
      std::map<std::string, bool> is_odd_by_id;
      auto const made = profile_while([&] {
        std::vector<join_handle<std::uint64_t>> all;
        for (int i = 0; i < 10; ++i) {
          all.push_back(spawn([i] {
            (i % 2 == 0 ? yield_as_even : yield_as_odd)(test::scaled(1'000'000));
            return this_goroutine::id();
          }));
        }
        for (std::size_t i = 0; i < all.size(); ++i) is_odd_by_id[std::to_string(all[i].join())] = i % 2 != 0;
      });
      EXPECT_TRUE(made.comments.empty()) << made.comments.front();
      int even = 0;
      int odd = 0;
      for (profile_sample const& one : made.samples) {
        auto const found = is_odd_by_id.find(one.label("goroutine"));
        if (found == is_odd_by_id.end()) {
          EXPECT_FALSE(one.label("goroutine").empty() && one.addresses.size() > 1 && one.has("yield_as"));
          continue;
        }
        EXPECT_FALSE(one.has(found->second ? "yield_as_even" : "yield_as_odd")) << "in goroutine " << found->first;
        ++(found->second ? odd : even);
      }
      EXPECT_LT(0, even);
      EXPECT_LT(0, odd);
    });
  }
}

TEST(cpu_profile, goroutines_are_preempted_as_usual) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  run_at(1, [] { static_cast<void>(profile_while([] { test::sleep_beside_a_loop(); })); });
}

TEST(cpu_profile, ends_with_the_run) {
  for (int i = 0; i < 3; ++i) {
    run_at(2, [] {
      profile::start_cpu(dense);
      go([] { burn_much(10s); });
      burn_little(30ms);
    });
  }
  run_at(1, [] {
    EXPECT_EQ("", profile::stop_cpu());
    EXPECT_FALSE(profile::stop_cpu("/nonexistent/folder/file"));
  });
  EXPECT_EQ("", profile::stop_cpu());
}

TEST(cpu_profile, there_is_one_at_a_time_and_its_rate_has_limits) {
  run_at(1, [] {
    profile::start_cpu();
    EXPECT_THROW(profile::start_cpu(), std::logic_error);
    EXPECT_NE("", profile::stop_cpu());
    EXPECT_EQ("", profile::stop_cpu());
    EXPECT_THROW(profile::start_cpu({.per_second = 0}), std::invalid_argument);
    EXPECT_THROW(profile::start_cpu({.per_second = 1001}), std::invalid_argument);
    profile::start_cpu({.per_second = 1});
    EXPECT_NE("", profile::stop_cpu());
  });
  EXPECT_THROW(profile::start_cpu(), std::logic_error);
}

std::atomic<int> signals_of_user{0};

// The program's own handler of a signal while this object lives.
class users_handler {
 public:
  explicit users_handler(
      int number, void (*handler)(int) = [](int) { ++signals_of_user; })
      : number_(number) {
    signals_of_user = 0;
    struct sigaction own {};
    own.sa_handler = handler;
    own.sa_flags = SA_RESTART | SA_ONSTACK;
    ::sigaction(number, &own, &before_);
  }
  ~users_handler() { ::sigaction(number_, &before_, nullptr); }
  users_handler(users_handler const&) = delete;
  users_handler& operator=(users_handler const&) = delete;

 private:
  int const number_;
  struct sigaction before_ {};
};

TEST(cpu_profile, does_not_disturb_a_profiler_of_the_program_that_uses_sigprof) {
  users_handler const own(SIGPROF);
  run_at(2, [] {
    itimerval const often{{0, 2'000}, {0, 2'000}};
    itimerval const never{};
    ::setitimer(ITIMER_PROF, &often, nullptr);
    auto const made = profile_while([] { burn_much(300ms); });
    ::setitimer(ITIMER_PROF, &never, nullptr);
    EXPECT_LT(5, signals_of_user);
    if (has_names()) {
      EXPECT_LT(50, percent_in(made, "burn_much"));
    }
  });
}

TEST(cpu_profile, signals_of_the_program_with_the_same_number_go_to_its_handler) {
  users_handler const own(SIGURG);
  run_at(1, [] {
    static_cast<void>(profile_while([] {
      for (int i = 0; i < 10; ++i) {
        burn_much(10ms);
        ::raise(SIGURG);
      }
    }));
  });
  EXPECT_EQ(10, signals_of_user);
}

TEST(cpu_profile, stacks_are_not_walked_while_the_program_handles_faults_itself) {
  if (!has_stacks()) GTEST_SKIP() << "no stacks here";
  run_at(1, [] {
    users_handler const own(SIGSEGV, SIG_DFL);
    auto const made = profile_while([] { burn_much(100ms); });
    EXPECT_FALSE(made.samples.empty());
    for (profile_sample const& one : made.samples) EXPECT_EQ(1U, one.addresses.size());
  });
}

TEST(cpu_profile, works_without_preemption_by_signals) {
  struct sigaction before {};
  ::sigaction(SIGURG, nullptr, &before);
  test::run_with({.max_procs = 1, .async_preemption = false}, [] {
    auto const made = profile_while([] { burn_much(200ms); });
    EXPECT_FALSE(made.samples.empty());
    if (has_names()) {
      EXPECT_LT(50, percent_in(made, "burn_much"));
    }
  });
  struct sigaction after {};
  ::sigaction(SIGURG, nullptr, &after);
  EXPECT_EQ(before.sa_handler, after.sa_handler);
}

TEST(cpu_profile, a_child_of_fork_has_none_and_its_parent_goes_on) {
  run_at(2, [] {
    auto const made = profile_while([] {
      burn_much(30ms);
      int const child = ::fork();
      if (child == 0) {
        burn_little(30ms);  // no signal ends it
        ::_exit(profile::stop_cpu().empty() ? 0 : 1);
      }
      int status = -1;
      blocking([&] { ::waitpid(child, &status, 0); });
      EXPECT_EQ(0, status);
      burn_much(100ms);
    });
    EXPECT_FALSE(made.samples.empty());
  });
}

TEST(cpu_profile, programs_that_are_started_meanwhile_are_not_disturbed) {
  run_at(2, [] {
    static_cast<void>(profile_while([] {
      for (int i = 0; i < 5; ++i) {
        auto child = process::start(test::shell("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; exit 7"));
        burn_little(5ms);
        EXPECT_EQ(7, child.wait().code());
      }
    }));
  });
}

TEST(cpu_profile, follows_threads_that_come_and_go) {
  THRUM_SKIP_WITHOUT_NAMES_OF_SAMPLES();
  run_at(1, [] {
    auto const made = profile_while([] {
      blocking([] {
        for (int i = 0; i < 4; ++i) std::thread([] { burn_much(200ms); }).join();
      });
    });
    EXPECT_LT(50, percent_in(made, "burn_much"));
  });
}

TEST(cpu_profile, of_whole_runs_is_written_to_the_file_that_the_environment_names) {
  test::profile_file const file;
  test::with_environment const meanwhile("THRUM_CPUPROFILE", file.name());
  // A process of its own, because the runs of a process are counted.
  int const child = ::fork();
  if (child == 0) {
    run_at(1, [] {
      EXPECT_THROW(profile::start_cpu(), std::logic_error);  // it is on
      burn_much(100ms);
    });
    run_at(1, [] { burn_little(100ms); });
    std::_Exit(0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(0, status);
  auto const first = read_profile(file.contents());
  EXPECT_FALSE(first.samples.empty());
  auto const second = read_profile(test::contents_of(file.name() + ".2"));
  EXPECT_FALSE(second.samples.empty());
  if (!has_names()) return;
  EXPECT_LT(50, percent_in(first, "burn_much"));
  EXPECT_LT(50, percent_in(second, "burn_little"));
}

TEST(cpu_profile, of_a_run_that_ends_by_a_panic_is_written_too) {
  test::profile_file const file;
  test::with_environment const meanwhile("THRUM_CPUPROFILE", file.name());
  int const child = ::fork();
  if (child == 0) {
    ::alarm(100);
    std::freopen("/dev/null", "w", stderr);
    run(
        [] {
          go([] {
            burn_much(100ms);
            throw std::runtime_error("boom");
          });
          sleep_for(1h);
        },
        {.max_procs = 2});
    std::_Exit(0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 2) << status;
  auto const made = read_profile(file.contents());
  EXPECT_FALSE(made.samples.empty());
  if (!has_names()) return;
  EXPECT_LT(50, percent_in(made, "burn_much"));
}

TEST(cpu_profile, a_file_that_the_environment_names_has_to_be_writable) {
  test::with_environment const meanwhile("THRUM_CPUPROFILE", "/nonexistent/folder/file");
  try {
    run_at(1, [] {});
    ADD_FAILURE() << "it was opened";
  } catch (std::system_error const& e) {
    EXPECT_EQ(ENOENT, e.code().value());
    EXPECT_NE(std::string::npos, std::string(e.what()).find("THRUM_CPUPROFILE: open /nonexistent/folder/file"))
        << e.what();
  }
}

TEST(cpu_profile, is_opened_by_go_tool_pprof) {
  THRUM_SKIP_WITHOUT_PPROF();
  std::string made;
  run_at(2, [&] {
    profile::start_cpu(dense);
    burn_much(300ms);
    made = profile::stop_cpu();
  });
  auto const top = test::run_pprof("-top -symbolize=none", made);
  EXPECT_EQ(0, top.code) << top.text;
  EXPECT_NE(std::string::npos, top.text.find("Type: cpu")) << top.text;
  auto const raw = test::run_pprof("-raw -symbolize=none", made);
  EXPECT_EQ(0, raw.code) << raw.text;
  EXPECT_NE(std::string::npos, raw.text.find("goroutine:[1]")) << raw.text;
  if (!has_names()) return;
  EXPECT_NE(std::string::npos, top.text.find("burn_much")) << top.text;
}

}  // namespace
}  // namespace thrum
