// Profiles of a process through its debug socket, and `thrum profile`.
#include "core/wait_profile.h"
#include "debug/symbols.h"
#include "debug_socket/socket_client.h"
#include "os/late_code.h"
#include "profile/burn.h"
#include "profile/pprof_tool.h"
#include "profile/profile_reader.h"
#include "runs/in_child.h"
#include "support/child.h"
#include "support/run_at.h"
#include "support/wait_until.h"
#include "sys/cpu_samples.h"
#include <thrum/profile.h>
#include <thrum/thrum.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using test::profile_sample;
using test::read_profile;
using test::read_profile_result;
using test::socket_client;

bool has_names() { return rt::os::loader_can_be_asked && rt::symbols().reads_files(); }

[[gnu::noinline]] void wait_for_the_end(chan<int> const& never) {
  static_cast<void>(never.recv());
  asm volatile("");
}
[[gnu::noinline]] void wait_for_an_answer(chan<int> const& from) {
  static_cast<void>(from.recv());
  asm volatile("# an answer");  // otherwise the compiler merges this function with wait_for_the_end
}
[[gnu::noinline]] void let_others_wait(mutex& door) {
  door.lock();
  yield();
  door.unlock();
  asm volatile("");
}

class profile_request : public testing::Test {
 protected:
  [[nodiscard]] options with_socket() const { return {.max_procs = 2, .debug_socket = folder_.socket()}; }
  [[nodiscard]] std::string ask(std::string_view request) const { return test::ask_once(folder_.socket(), request); }
  // The profile, which has to come, while other goroutines call work() again and again.
  template <class Work>
  read_profile_result profile_beside(std::string const& request, int workers, Work work) const {
    std::atomic<bool> is_over{false};
    wait_group all;
    for (int i = 0; i < workers; ++i) {
      all.go([&] {
        while (!is_over) work();
      });
    }
    std::string const answer = blocking([&] { return ask(request); });
    is_over = true;
    all.wait();
    std::size_t const end = answer.find('\n');
    EXPECT_TRUE(answer.starts_with("ok ")) << answer;
    return read_profile(answer.substr(end + 1));
  }

  test::socket_folder folder_;
};

std::int64_t samples_in(read_profile_result const& from, std::string_view function) {
  return test::sum_of(from, 0, [&](profile_sample const& one) { return one.has(function); });
}

TEST_F(profile_request, of_goroutines_has_all_of_them) {
  test::run_with(with_socket(), [&] {
    chan<int> const never;
    wait_group all;
    for (int i = 0; i < 20; ++i) all.go([&] { wait_for_the_end(never); });
    ASSERT_TRUE(test::wait_until([] { return read_stats().waiting == 20; }));
    auto const made = profile_beside("profile goroutines", 0, [] {});
    EXPECT_EQ(
        test::sum_of(made, 0, [](profile_sample const& s) { return s.label("state") == "waiting: chan receive"; }), 20);
    if (has_names()) {
      EXPECT_EQ(samples_in(made, "wait_for_the_end"), 20);
    }
    never.close();
    all.wait();
  });
}

TEST_F(profile_request, of_the_cpu_has_the_function_that_computes) {
  if (!rt::stacks_can_be_sampled() || !has_names()) GTEST_SKIP() << "no names of functions to look for";
  test::run_with(with_socket(), [&] {
    std::int64_t found = 0;
    for (int tries = 0; tries < 20 && found == 0; ++tries)  // on a busy machine it may have no turn
      found = samples_in(profile_beside("profile cpu 1", 1, [] { test::burn_much(5ms); }), "burn_much");
    EXPECT_GT(found, 0);
  });
}

TEST_F(profile_request, of_blocks_has_what_has_waited_meanwhile_and_leaves_the_profile_off) {
  if (!has_names()) GTEST_SKIP() << "no names of functions to look for";
  test::run_with(with_socket(), [&] {
    chan<int> box;
    auto const made = profile_beside("profile blocks 1", 1, [&] {
      wait_group answerer;
      answerer.go([&] { box.send(1); });
      wait_for_an_answer(box);
      answerer.wait();
    });
    EXPECT_GT(samples_in(made, "wait_for_an_answer"), 0);
    EXPECT_EQ(rt::blocked_waits.rate.load(std::memory_order_relaxed), 0U);
    auto const second = profile_beside("profile blocks 1", 0, [] {});
    EXPECT_EQ(samples_in(second, "wait_for_an_answer"), 0);
  });
}

TEST_F(profile_request, of_mutexes_has_who_has_let_others_wait) {
  if (!has_names()) GTEST_SKIP() << "no names of functions to look for";
  test::run_with(with_socket(), [&] {
    mutex door;
    std::int64_t found = 0;
    for (int tries = 0; tries < 20 && found == 0; ++tries)
      found = samples_in(profile_beside("profile mutexes 1", 8, [&] { let_others_wait(door); }), "let_others_wait");
    EXPECT_GT(found, 0);
    EXPECT_EQ(rt::contended_waits.rate.load(std::memory_order_relaxed), 0U);
  });
}

TEST_F(profile_request, leaves_the_rate_alone_that_the_program_has_set) {
  test::run_with(with_socket(), [&] {
    profile::set_block_rate(1ms);
    static_cast<void>(profile_beside("profile blocks 1", 0, [] {}));
    EXPECT_EQ(profile::set_block_rate(0ns), 1ms);
  });
}

std::uint64_t rate_of(rt::wait_profile const& its) { return its.rate.load(std::memory_order_relaxed); }

class waits_request : public profile_request {
 protected:
  ~waits_request() override {
    profile::set_block_rate(0ns);
    profile::set_mutex_rate(0);
  }
  // Calls meanwhile() while a client takes each of the two profiles. The server looks at its oldest clients first, so
  // it has seen what they did when it answers a new one.
  template <class Meanwhile>
  void beside_clients(Meanwhile meanwhile) const {
    {
      socket_client const of_blocks(folder_.socket());
      socket_client const of_mutexes(folder_.socket());
      of_blocks.send("profile blocks 3600\n");
      of_mutexes.send("profile mutexes 3600\n");
      EXPECT_TRUE(blocking([&] { return ask("about"); }).starts_with("ok "));
      meanwhile();
    }
    EXPECT_TRUE(blocking([&] { return ask("about"); }).starts_with("ok "));
  }
};

TEST_F(waits_request, leaves_the_same_rate_on_that_the_program_has_set_meanwhile) {
  test::run_with(with_socket(), [&] {
    beside_clients([] {
      EXPECT_EQ(profile::set_block_rate(10us), 0ns);
      EXPECT_EQ(profile::set_mutex_rate(1), 0);
    });
    EXPECT_EQ(rate_of(rt::blocked_waits), 10'000U);
    EXPECT_EQ(rate_of(rt::contended_waits), 1U);
    EXPECT_EQ(profile::set_block_rate(0ns), 10us);
    EXPECT_EQ(profile::set_mutex_rate(0), 1);
  });
}

TEST_F(waits_request, is_not_left_on_by_a_program_that_restores_its_rate) {
  test::run_with(with_socket(), [&] {
    int mutex_rate = -1;
    std::chrono::nanoseconds block_rate{-1};
    beside_clients([&] {
      block_rate = profile::set_block_rate(5ms);
      mutex_rate = profile::set_mutex_rate(5);
      EXPECT_EQ(rate_of(rt::blocked_waits), 5'000'000U) << "the program's rate is in force";
      EXPECT_EQ(rate_of(rt::contended_waits), 5U);
    });
    EXPECT_EQ(profile::set_block_rate(block_rate), 5ms);
    EXPECT_EQ(profile::set_mutex_rate(mutex_rate), 5);
    EXPECT_EQ(rate_of(rt::blocked_waits), 0U);
    EXPECT_EQ(rate_of(rt::contended_waits), 0U);
    EXPECT_EQ(rt::wait_profiles_on.load(std::memory_order_relaxed), 0U);
  });
}

TEST_F(waits_request, goes_on_when_the_program_ends_its_own_profile) {
  test::run_with(with_socket(), [&] {
    profile::set_block_rate(1ms);
    profile::set_mutex_rate(7);
    beside_clients([] {
      profile::set_mutex_rate(0);
      EXPECT_EQ(rate_of(rt::contended_waits), 1U);
    });
    EXPECT_EQ(rate_of(rt::blocked_waits), 1'000'000U);
  });
}

// The server of the earlier run has been left behind, because it was looking names up.
TEST_F(waits_request, of_an_earlier_run_that_ends_late_leaves_the_rate_of_the_next_one_on) {
  for (auto const which : {rt::wait_kind::blocked, rt::wait_kind::contended}) {
    rt::wait_profile const& its = which == rt::wait_kind::blocked ? rt::blocked_waits : rt::contended_waits;
    std::uint32_t const earlier = rt::begin_client_rate(which, 10);
    std::uint32_t const next = rt::begin_client_rate(which, 20);
    rt::end_client_rate(which, earlier);
    EXPECT_EQ(rate_of(its), 20U);
    rt::end_client_rate(which, next);
    EXPECT_EQ(rate_of(its), 0U);
  }
  EXPECT_EQ(rt::wait_profiles_on.load(std::memory_order_relaxed), 0U);
}

TEST_F(waits_request, is_off_in_a_child_of_fork) {
  test::run_with(with_socket(), [&] {
    profile::set_block_rate(3ms);
    beside_clients([] {
      int const code = blocking([] {
        return in_child([] {
          if (rate_of(rt::contended_waits) != 0) return 1;
          if (rate_of(rt::blocked_waits) != 3'000'000U) return 2;
          return rt::wait_profiles_on.load(std::memory_order_relaxed) == rt::blocked_waits_bit ? as_expected : 3;
        });
      });
      EXPECT_EQ(code, as_expected);
    });
  });
}

TEST_F(profile_request, is_refused_if_it_is_none_or_another_one_is_being_taken) {
  test::run_with(with_socket(), [&] {
    blocking([&] {
      for (char const* const words : {"", " cpu", " cpu 0", " cpu 3601", " heap 1", " goroutines 1", " blocks x"})
        EXPECT_TRUE(ask("profile" + std::string(words)).starts_with("error profile WORDS: ")) << words;
    });
    profile::start_cpu();
    EXPECT_EQ(blocking([&] { return ask("profile cpu 1"); }), "error a CPU profile is being taken already\n");
    static_cast<void>(profile::stop_cpu());
  });
}

// Whether a CPU profile is being taken: then there is a thread that collects the samples.
bool is_taken() {
  for (auto const& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    if (name == "thrum-profile") return true;
  }
  return false;
}

TEST_F(profile_request, ends_when_its_client_is_gone) {
  test::run_with(with_socket(), [&] {
    {
      socket_client const client(folder_.socket());
      client.send("profile cpu 3600\n");
      EXPECT_TRUE(test::wait_until(is_taken));
    }
    EXPECT_TRUE(test::wait_until([] { return !is_taken(); }));
    {
      socket_client const client(folder_.socket());
      client.send("profile blocks 3600\n");
      EXPECT_TRUE(test::wait_until([] { return rt::blocked_waits.rate.load(std::memory_order_relaxed) != 0; }));
    }
    EXPECT_TRUE(test::wait_until([] { return rt::blocked_waits.rate.load(std::memory_order_relaxed) == 0; }));
  });
}

TEST_F(profile_request, does_not_end_a_profile_that_the_program_has_begun_since) {
  test::run_with(with_socket(), [&] {
    {
      socket_client const client(folder_.socket());
      client.send("profile cpu 3600\n");
      EXPECT_TRUE(test::wait_until([] { return profile::stop_cpu() != ""; })) << "the client's profile has begun";
      profile::start_cpu();
    }
    EXPECT_TRUE(blocking([&] { return ask("about"); }).starts_with("ok "));  // after the client has been dropped
    EXPECT_NE(profile::stop_cpu(), "");
  });
}

TEST_F(profile_request, is_over_when_the_run_ends) {
  std::string answer;
  std::thread client;
  test::run_with(with_socket(), [&] {
    client = std::thread([&] { answer = ask("profile cpu 3600"); });
    EXPECT_TRUE(test::wait_until(is_taken));
  });
  client.join();
  EXPECT_FALSE(answer.starts_with("ok ")) << answer;
}

#ifdef THRUM_COMMAND
TEST_F(profile_request, of_the_command_is_a_file_that_pprof_opens) {
  if (test::emulated()) GTEST_SKIP() << "the command is not built for the emulated machine";
  test::profile_file const file("what was there before " + std::string(100'000, 'x'));
  test::run_with(with_socket(), [&] {
    for (char const* const kind : {"cpu", "goroutines", "blocks", "mutexes"}) {
      std::string command = THRUM_COMMAND " profile --seconds 1 --kind ";
      command += kind;
      command += ' ' + folder_.socket() + " -o " + file.name() + " 2>&1";
      test::outcome const ran = blocking([&] { return test::run_shell(command); });
      EXPECT_EQ(ran.code, 0) << ran.text;
      EXPECT_EQ(ran.text, "wrote " + file.name() + '\n');
      EXPECT_FALSE(read_profile(file.contents()).types.empty()) << kind;
      if (test::has_pprof()) {
        test::outcome const shown = blocking([&] { return test::run_pprof("-raw", file.contents()); });
        EXPECT_EQ(shown.code, 0) << shown.text;
      }
    }
  });
}

TEST_F(profile_request, of_the_command_says_what_is_wrong) {
  if (test::emulated()) GTEST_SKIP() << "the command is not built for the emulated machine";
  auto const refusal = [&](std::string const& arguments) {
    test::outcome const ran = test::run_shell(THRUM_COMMAND " profile " + arguments + " 2>&1");
    EXPECT_EQ(ran.code, 2) << ran.text;
    return ran.text;
  };
  EXPECT_NE(refusal("/none/s").find("--output is required"), std::string::npos);
  EXPECT_NE(refusal("/none/s -o x --kind heap").find("heap not in"), std::string::npos);
  EXPECT_NE(refusal("/none/s -o /tmp/x").find("cannot connect to /none/s"), std::string::npos);
  test::run_with(with_socket(), [&] {
    std::string const said = blocking([&] { return refusal(folder_.socket() + " -o /none/profile"); });
    EXPECT_EQ(said, "thrum: cannot write /none/profile: No such file or directory\n");
  });
}
#endif

}  // namespace
}  // namespace thrum
