// Names by the C library, whose getaddrinfo this program replaces by one that answers when it is told to.
#include "base/platform.h"
#include "net/c_lookup.h"
#include "support/child_test.h"
#include "support/goroutines.h"
#include "support/run_at.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <thread>

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

std::atomic<bool> answers_come{true};
void let_answers_come() {
  answers_come = true;
  answers_come.notify_all();
}
std::atomic<int> under_way{0};
std::atomic<int> most_under_way{0};
std::atomic<int> asked{0};

thread_local bool no_more_threads = false;

[[maybe_unused]] bool const c_library_is_asked = ::setenv("THRUM_DEBUG", "netdns=c", 1) == 0;

}  // namespace

extern "C" int getaddrinfo(char const*, char const*, addrinfo const*, addrinfo** found) {
  ++asked;
  int const now = ++under_way;
  int most = most_under_way;
  while (now > most && !most_under_way.compare_exchange_weak(most, now)) {
  }
  answers_come.wait(false);  // asleep, because hundreds of threads do this at a time
  struct whole {
    addrinfo info;
    sockaddr_in address;
  };
  auto* const made = static_cast<whole*>(std::calloc(1, sizeof(whole)));
  made->address.sin_family = AF_INET;
  made->address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  made->info.ai_family = AF_INET;
  made->info.ai_addr = reinterpret_cast<sockaddr*>(&made->address);
  made->info.ai_addrlen = sizeof made->address;
  *found = &made->info;
  --under_way;
  return 0;
}
extern "C" void freeaddrinfo(addrinfo* found) { std::free(found); }

#if !THRUM_ASAN && !THRUM_TSAN
extern "C" int pthread_create(pthread_t* made, pthread_attr_t const* how, void* (*call)(void*),
                              void* argument) noexcept {
  if (no_more_threads) return EAGAIN;
  using signature = int (*)(pthread_t*, pthread_attr_t const*, void* (*)(void*), void*);
  static auto const next = reinterpret_cast<signature>(::dlsym(RTLD_NEXT, "pthread_create"));
  return next(made, how, call, argument);
}
#endif

namespace thrum {
namespace {

using namespace std::chrono_literals;

class c_lookups : public test::at_every_width {
 protected:
  void SetUp() override {
    let_answers_come();
    most_under_way = 0;
    asked = 0;
  }
  void TearDown() override {
    let_answers_come();
    EXPECT_TRUE(test::wait_until([] { return under_way == 0; }));
  }
};
THRUM_AT_EVERY_WIDTH(c_lookups);

bool is_found(std::error_code& error) {
  auto const found = resolve("a.name", 80, error);
  return !error && found.size() == 1 && found.front().to_string() == "127.0.0.1:80";
}

TEST_P(c_lookups, NE_each_ends_by_its_callers_time_limit_and_its_late_answer_is_dropped) {
  static constexpr int callers = 100;
  run([] {
    answers_come = false;
    std::atomic<int> timed_out{0};
    wait_group all;
    for (int i = 0; i < callers; ++i) {
      all.go([&] {
        std::error_code error;
        static_cast<void>(resolve("a.name", 80, 20ms, error));
        if (error == std::errc::timed_out) ++timed_out;
      });
    }
    all.wait();  // no answer has come
    EXPECT_EQ(timed_out, callers);
    std::error_code error;
    EXPECT_FALSE(tcp_conn::dial("a.name:80", 20ms, error));
    EXPECT_EQ(error, std::errc::timed_out);
    let_answers_come();
    EXPECT_TRUE(is_found(error)) << error.message();
    EXPECT_EQ(resolve("a.name", 80, 30s, error).size(), 1U);
    EXPECT_FALSE(error);
    // The end of the run would stop a goroutine that is in the code of this program's getaddrinfo.
    EXPECT_TRUE(test::wait_until([] { return under_way == 0; }));
  });
}

TEST_P(c_lookups, NE_some_hundred_run_at_a_time_and_the_others_wait_for_their_turn) {
  static constexpr int callers = 2 * rt::lookups_max;
  run([] {
    answers_come = false;
    std::atomic<int> found{0};
    wait_group all;
    for (int i = 0; i < callers; ++i) {
      all.go([&] {
        std::error_code error;
        if (is_found(error)) ++found;
      });
    }
    EXPECT_TRUE(test::wait_until([] { return under_way == rt::lookups_max; }));
    std::error_code error;
    static_cast<void>(resolve("a.name", 80, 10ms, error));
    EXPECT_EQ(error, std::errc::timed_out) << "while it waits for its turn";
    EXPECT_EQ(asked, rt::lookups_max);
    let_answers_come();
    all.wait();
    EXPECT_EQ(found, callers);
    EXPECT_EQ(most_under_way, rt::lookups_max);
    EXPECT_EQ(asked, callers);
  });
}

class c_lookups_left_behind : public test::child_test {};

TEST_F(c_lookups_left_behind, NE_take_no_turn_of_the_next_run) {
  auto const child = [] {
    answers_come = false;
    run([] {
      for (int i = 0; i < rt::lookups_max; ++i) {
        go([] {
          std::error_code error;
          static_cast<void>(is_found(error));
        });
      }
      if (!test::wait_until([] { return under_way == rt::lookups_max; })) std::_Exit(1);
    });
    run([] {
      std::error_code error;
      static_cast<void>(resolve("a.name", 80, 20ms, error));
      if (asked != rt::lookups_max + 1) std::_Exit(2);  // it did not get its turn at once
      let_answers_come();
      std::_Exit(is_found(error) ? 0 : 3);
    });
  };
  EXPECT_EXIT(child(), testing::ExitedWithCode(0), "");
}

// A goroutine that sleeps in the kernel, unannounced, when its run ends, and goes on in the next run.
TEST_F(c_lookups_left_behind, NE_do_not_free_the_places_of_the_next_run) {
  auto const child = [] {
    static constexpr int places = 10;
    static std::atomic<bool> sleeps{false};
    static std::atomic<bool> may_go_on{false};
    static std::atomic<bool> goes_on{false};
    options const chosen{.max_procs = 2, .max_threads = 4 * places, .async_preemption = false};
    run(
        [] {
          go([] {
            sleeps = true;
            while (!may_go_on) ::usleep(1000);
            goes_on = true;
            std::error_code error;
            static_cast<void>(is_found(error));
            std::_Exit(5);
          });
          if (!test::wait_until([] { return sleeps.load(); })) std::_Exit(1);
        },
        chosen);
    answers_come = false;
    run(
        [] {
          for (int i = 0; i < places; ++i) {
            go([] {
              std::error_code error;
              static_cast<void>(is_found(error));
            });
          }
          if (!test::wait_until([] { return under_way == places; })) std::_Exit(2);
          may_go_on = true;
          if (!test::wait_until([] { return goes_on.load(); })) std::_Exit(3);
          for (int i = 0; i < 10; ++i) {  // all places are taken, so each ends by its limit
            std::error_code error;
            static_cast<void>(resolve("a.name", 80, 20ms, error));
          }
          std::_Exit(asked == places ? 0 : 4);
        },
        chosen);
  };
  EXPECT_EXIT(child(), testing::ExitedWithCode(0), "");
}

TEST_P(c_lookups, NE_keep_the_order_of_coming_when_the_limit_of_threads_is_raised) {
  run([] {
    int const before = set_max_threads(4 * 8);
    answers_come = false;
    std::atomic<int> found{0};
    wait_group all;
    auto const one_more = [&] {
      all.go([&] {
        std::error_code error;
        if (is_found(error)) ++found;
      });
    };
    for (int i = 0; i < 8; ++i) one_more();
    ASSERT_TRUE(test::wait_until([] { return under_way == 8; }));
    one_more();  // waits for its turn
    ASSERT_TRUE(test::wait_until([] { return test::waiting_for(rt::wait_reason::chan_receive) == 1; }));
    set_max_threads(4 * 9);
    std::error_code error;
    static_cast<void>(resolve("a.name", 80, 20ms, error));
    EXPECT_EQ(error, std::errc::timed_out) << "the place that is free belongs to the one that waits";
    EXPECT_TRUE(test::wait_until([] { return asked == 9; }));
    let_answers_come();
    all.wait();
    EXPECT_EQ(found, 9) << "and the tenth gave its own back";
    EXPECT_EQ(asked, 9);
    set_max_threads(before);
  });
}

TEST_P(c_lookups, NE_a_thread_that_cannot_be_made_is_an_error_code) {
  if constexpr (rt::with_asan || rt::with_tsan) GTEST_SKIP() << "the sanitizer has a pthread_create of its own";
  run([] {
    blocking([] {
      std::thread([] {
        no_more_threads = true;
        std::error_code error;
        EXPECT_NO_THROW(static_cast<void>(resolve("a.name", 80, 30s, error)));
        no_more_threads = false;
        EXPECT_EQ(error, std::errc::resource_unavailable_try_again);
      }).join();
    });
  });
}

// A thread that tries again and again while no answer comes.
void use_up_all_threads() {
  answers_come = false;
  for (int i = 0; i < 2 * rt::lookups_max; ++i) {
    std::error_code error;
    static_cast<void>(resolve("a.name", 80, 1ms, error));
    EXPECT_EQ(error, std::errc::timed_out);
  }
}

class c_lookups_of_threads : public testing::Test {
 protected:
  void SetUp() override {
    let_answers_come();
    ASSERT_TRUE(test::wait_until([] { return under_way == 0; }));
    most_under_way = 0;
    asked = 0;
  }
  void TearDown() override {
    let_answers_come();
    EXPECT_TRUE(test::wait_until([] { return under_way == 0; }));
  }
};

TEST_F(c_lookups_of_threads, NE_some_hundred_run_at_a_time_and_the_others_wait_for_their_turn) {
  use_up_all_threads();
  EXPECT_TRUE(test::wait_until([] { return asked >= rt::lookups_max; }));
  EXPECT_EQ(asked, rt::lookups_max);
  std::error_code error;
  std::thread one_more([&] { static_cast<void>(resolve("a.name", 80, 30s, error)); });
  let_answers_come();
  one_more.join();
  EXPECT_FALSE(error) << error.message();
  EXPECT_LE(most_under_way, rt::lookups_max);
  EXPECT_EQ(asked, rt::lookups_max + 1);
}

// The child has none of those threads.
TEST_F(c_lookups_of_threads, NE_a_child_of_fork_has_all_places) {
  if constexpr (rt::with_tsan) GTEST_SKIP() << "TSan starts no threads in a child of a program that has several";
  use_up_all_threads();
  pid_t const child = ::fork();
  if (child == 0) {
    answers_come = true;
    std::error_code error;
    static_cast<void>(resolve("a.name", 80, 30s, error));
    std::_Exit(error ? 1 : 0);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_P(c_lookups, NE_a_thread_from_outside_has_a_time_limit_too) {
  run([] {
    blocking([] {
      std::thread([] {
        answers_come = false;
        std::error_code error;
        static_cast<void>(resolve("a.name", 80, 10ms, error));
        EXPECT_EQ(error, std::errc::timed_out);
        let_answers_come();
        EXPECT_TRUE(is_found(error)) << error.message();
        EXPECT_EQ(resolve("a.name", 80, 30s, error).size(), 1U);
      }).join();
    });
  });
}

}  // namespace
}  // namespace thrum
