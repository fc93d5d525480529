// The models of concurrency that `thrum bench models` compares.
#include "command/models/models.h"

#include "base/platform.h"
#include "command/models/fibres.h"
#include "command/models/report.h"
#include "support/child.h"
#include "support/watchdog.h"
#include "trace/json_reader.h"
#include <thrum/detail/atomic.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <string>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

namespace thrum {
namespace {

using command::job;
using command::model;

constexpr std::array all_models{model::thread_each, model::one_thread, model::locked_queue, model::with_ps};
constexpr std::array all_jobs{job::start_and_join, job::ping_pong, job::computing, job::blocked, job::waiting};

command::job_sizes small_sizes() {
  return {.threads = 2,
          .short_tasks = 400,
          .messages = 800,
          .primes_below = 10'000,
          .calls = 4,
          .call_ms = 1,
          .tasks_beside_calls = 10,
          .waiting_tasks = 100};
}

TEST(models, S36_each_model_computes_the_same_in_each_job) {
  test::start_watchdog();
  for (job const which : all_jobs) {
    std::uint64_t const right =
        which == job::computing ? 1229 : command::right_sum(which, small_sizes());  // prime numbers below 10,000
    for (model const how : all_models) {
      EXPECT_EQ(command::measure(how, which, small_sizes()).sum, right)
          << "model " << static_cast<int>(how) << ", job " << static_cast<int>(which);
    }
  }
}

TEST(models, S36_all_tasks_of_one_thread_wait_while_it_is_in_a_call) {
  test::start_watchdog();
  EXPECT_EQ(command::measure(model::one_thread, job::blocked, small_sizes()).beside_calls, 0);
}

TEST(models, S36_with_several_threads_tasks_run_beside_calls) {
  test::start_watchdog();
  command::job_sizes sizes = small_sizes();
  sizes.call_ms = 3'600'000;
  sizes.calls_end_with_tasks = true;
  for (model const how : {model::thread_each, model::locked_queue, model::with_ps}) {
    EXPECT_EQ(command::measure(how, job::blocked, sizes).beside_calls, sizes.tasks_beside_calls)
        << "model " << static_cast<int>(how);
  }
}

TEST(models, S36_no_more_fibres_run_than_the_scheduler_has_threads_also_after_calls) {
  test::start_watchdog();
  detail::atomic<int> running{0};
  detail::atomic<int> most{0};
  auto const note = [&] {
    int const now = running.fetch_add(1, detail::seq_cst) + 1;
    int before = most.load(detail::seq_cst);
    while (before < now && !most.compare_exchange(before, now, detail::seq_cst, detail::seq_cst)) {
    }
  };
  command::fibre_scheduler(2).run([&] {
    command::fibre_lock lock;
    command::fibre_condition ended;
    int left = 200;
    for (int i = 0; i < 200; ++i) {
      command::fibre_scheduler::current().start([&] {
        for (int round = 0; round < 5; ++round) {
          note();
          running.fetch_sub(1, detail::seq_cst);
          command::fibre_scheduler::current().blocking([] { ::usleep(100); });
        }
        std::scoped_lock const held(lock);
        if (--left == 0) ended.notify_one();
      });
    }
    std::unique_lock held(lock);
    ended.wait(held, [&] { return left == 0; });
  });
  EXPECT_LE(most.load(detail::seq_cst), 2);
}

// The address space of this process and of those that it forks has a limit meanwhile.
class little_address_space {
 public:
  explicit little_address_space(std::uint64_t more_bytes) {
    ::getrlimit(RLIMIT_AS, &before_);
    std::ifstream file("/proc/self/statm");
    std::uint64_t pages = 0;
    file >> pages;
    rlimit const now{pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) + more_bytes, before_.rlim_max};
    is_set_ = ::setrlimit(RLIMIT_AS, &now) == 0;
  }
  ~little_address_space() { ::setrlimit(RLIMIT_AS, &before_); }
  little_address_space(little_address_space const&) = delete;
  little_address_space& operator=(little_address_space const&) = delete;

  [[nodiscard]] bool is_set() const { return is_set_; }

 private:
  rlimit before_{};
  bool is_set_ = false;
};

TEST(models, S36_a_process_that_cannot_start_all_threads_tells_the_reason) {
  if (test::emulated()) GTEST_SKIP() << "the limit would be that of the emulator";
  if (rt::with_asan || rt::with_tsan) GTEST_SKIP() << "the sanitizer takes more address space than the limit";
  test::start_watchdog();
  command::job_sizes sizes = small_sizes();
  sizes.waiting_tasks = 4'000;
  sizes.threads = 1'000;  // each of them starts threads itself
  sizes.short_tasks = 1'000 * 100;
  little_address_space const limit(256UL * 1024 * 1024);  // a thread has a stack of some MiB
  ASSERT_TRUE(limit.is_set());
  for (job const which : {job::waiting, job::start_and_join}) {
    command::cell const one = command::measure_in_child(model::thread_each, which, sizes);
    EXPECT_TRUE(one.error.starts_with("a task could not be started: ")) << one.error;
  }
}

TEST(models, S36_a_process_that_hangs_is_killed_at_its_limit) {
  if (rt::with_tsan) GTEST_SKIP() << "ThreadSanitizer ends a child of fork that makes threads if its parent had some";
  test::start_watchdog();
  command::job_sizes sizes = small_sizes();
  sizes.call_ms = 3'600'000;
  command::cell const one =
      command::measure_in_child(model::one_thread, job::blocked, sizes, std::chrono::milliseconds(20));
  EXPECT_EQ(one.error, "its process did not end within 20 ms");
}

command::comparison made_up() {
  command::comparison all;
  for (std::size_t which = 0; which < command::job_count; ++which) {
    for (std::size_t how = 0; how < command::model_count; ++how) all[which][how].is.value = 1000;
  }
  all[0][0].is.value = 12'000;
  all[1][1].error = "its process has died";
  return all;
}

TEST(models, S36_the_table_says_what_speaks_against_a_model) {
  std::string const table = command::as_table(made_up(), small_sizes());
  EXPECT_NE(table.find("    start and join a short task: 12 times\n"), std::string::npos) << table;
  EXPECT_NE(table.find("    send a message to another task: its process has died\n"), std::string::npos) << table;
  EXPECT_NE(table.find("    no job takes 1.5 times as much as with Ps\n"), std::string::npos) << table;
}

TEST(models, S36_the_picture_has_a_bar_for_each_model_and_job) {
  std::string const picture = command::as_svg(made_up(), small_sizes());
  std::size_t bars = 0;
  for (std::size_t at = 0; (at = picture.find("<rect x=", at)) != std::string::npos; ++at) ++bars;
  EXPECT_EQ(bars, command::model_count * command::job_count);
  EXPECT_TRUE(picture.starts_with("<svg ") && picture.ends_with("</svg>\n"));
}

#ifdef THRUM_COMMAND
TEST(models, S36_the_command_prints_json_and_draws_and_threads_need_more_memory) {
  if (test::emulated()) GTEST_SKIP() << "the command is not built for the emulated machine";
  std::string const picture = "/tmp/thrum_models_" + std::to_string(::getpid()) + ".svg";
  test::outcome const ran = test::run_shell(THRUM_COMMAND " bench models --short --json --svg " + picture);
  ASSERT_EQ(ran.code, 0) << ran.text;
  test::json_reader const json(ran.text);
  auto const number = [&](char const* path) { return std::stod(json.at(path)); };
  EXPECT_EQ(number("models.one_thread.tasks_done_beside_calls"), 0);
  if (!rt::with_asan && !rt::with_tsan) {
    EXPECT_GT(number("models.thread_each.waiting_bytes"), number("models.with_ps.waiting_bytes"));
  }
  std::ifstream file(picture);
  std::string const drawn((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  EXPECT_TRUE(drawn.starts_with("<svg "));
  std::filesystem::remove(picture);
}

TEST(models, S36_the_command_says_which_picture_it_cannot_write) {
  if (test::emulated()) GTEST_SKIP() << "the command is not built for the emulated machine";
  test::outcome const ran = test::run_shell(THRUM_COMMAND " bench models --svg /none/m.svg 2>&1");
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(ran.text, "thrum bench: cannot write /none/m.svg: No such file or directory\n");
}
#endif

}  // namespace
}  // namespace thrum
