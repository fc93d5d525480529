// sleep and related calls.
#include "posix/both_ways.h"

#include <atomic>
#include <chrono>

#include <sys/epoll.h>
#include <sys/mman.h>
#include <threads.h>
#include <time.h>

namespace thrum::test {
namespace {

using namespace std::chrono_literals;

class posix_sleeps : public at_every_width {};
THRUM_AT_EVERY_WIDTH(posix_sleeps);

TEST_P(posix_sleeps, they_end_after_their_time_and_not_before) {
  answers_alike(procs(), [](caller&) {
    answers said;
    auto began = clock::now();
    auto const at_least = [&](auto length) {
      said.push_back({clock::now() - began >= length});
      began = clock::now();
    };
    timespec const short_time{0, 2'000'000};
    timespec left{5, 5};
    said.push_back(told(::nanosleep(&short_time, &left)));
    at_least(2ms);
    said.push_back({left.tv_sec});
    said.push_back(told(::usleep(2000)));
    at_least(2ms);
    said.push_back({::thrd_sleep(&short_time, nullptr)});
    at_least(2ms);
    said.push_back({::clock_nanosleep(CLOCK_MONOTONIC, 0, &short_time, nullptr)});
    at_least(2ms);
    said.push_back({::clock_nanosleep(CLOCK_REALTIME, 0, &short_time, nullptr)});
    at_least(2ms);
    timespec when{};
    ::clock_gettime(CLOCK_MONOTONIC, &when);
    when.tv_sec += when.tv_nsec >= 995'000'000 ? 1 : 0;
    when.tv_nsec = (when.tv_nsec + 5'000'000) % 1'000'000'000;
    said.push_back({::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, nullptr)});
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    said.push_back({now.tv_sec > when.tv_sec || (now.tv_sec == when.tv_sec && now.tv_nsec >= when.tv_nsec)});
    ::clock_gettime(CLOCK_REALTIME, &when);
    said.push_back({::clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &when, nullptr)});
    return said;
  });
}

TEST_P(posix_sleeps, times_that_are_none) {
  answers_alike(procs(), [](caller&) {
    timespec const odd{0, 1'000'000'000};
    timespec const negative{-1, 0};
    timespec const zero{0, 0};
    return answers{told(::nanosleep(&odd, nullptr)),
                   told(::nanosleep(&negative, nullptr)),
                   told(::nanosleep(&zero, nullptr)),
                   told(::usleep(0)),
                   {static_cast<long>(::sleep(0))},
                   {::clock_nanosleep(CLOCK_MONOTONIC, 0, &odd, nullptr)},
                   {::clock_nanosleep(CLOCK_MONOTONIC, 0, &negative, nullptr)},
                   {::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &zero, nullptr)},
                   {::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &negative, nullptr)},
                   {::clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &zero, nullptr)},
                   {::clock_nanosleep(12345, 0, &zero, nullptr)},
                   {::clock_nanosleep(CLOCK_THREAD_CPUTIME_ID, 0, &zero, nullptr)}};
  });
}

// Where the calls are what they always were, it is the kernel that reads what they are given.
TEST(posix_plain_sleeps, bad_pointers_are_the_kernels_to_find) {
  if (rt::with_asan || rt::with_tsan) GTEST_SKIP() << "a sanitizer reads it first";
  void* const page = ::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  auto const* const unreadable = static_cast<timespec const*>(page);
  EXPECT_EQ(told(::nanosleep(unreadable, nullptr)), answer(-1, EFAULT));
  EXPECT_EQ(::clock_nanosleep(CLOCK_MONOTONIC, 0, unreadable, nullptr), EFAULT);
  both_ends const epoll{::epoll_create1(0), -1};
  epoll_event event{};
  answer const waited = told(::epoll_pwait2(epoll.first, &event, 1, unreadable, nullptr));
  if (waited.error != ENOSYS) {
    EXPECT_EQ(waited, answer(-1, EFAULT));
  }
  ::munmap(page, 4096);
}

TEST_P(posix_sleeps, thousands_sleep_on_few_threads) {
  run([] {
    wait_group all;
    std::atomic<int> awake{0};
    for (int i = 0; i < 2000; ++i) {
      all.go([&] {
        timespec const length{0, 20'000'000};
        EXPECT_EQ(::nanosleep(&length, nullptr), 0);
        ++awake;
      });
    }
    all.wait();
    EXPECT_EQ(awake, 2000);
    EXPECT_LT(num_threads(), 200);
  });
}

}  // namespace
}  // namespace thrum::test
