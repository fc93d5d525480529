// T08: a goroutine that parks in a call of the C library goes on on the thread on which it parked.
#include "sched/world.h"
#include "support/child_test.h"
#include "support/dumped.h"
#include "support/hogs.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/slices.h"
#include "support/threads_at_work.h"
#include "threads/home_calls.h"

#include <array>
#include <atomic>
#include <chrono>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

namespace thrum::test {
namespace {

using namespace std::chrono_literals;

class home : public at_every_width {};
THRUM_AT_EVERY_WIDTH(home);

struct pipe_ends {
  pipe_ends() {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    in = fd(ends[0]);
    out = fd(ends[1]);
  }
  fd in;
  fd out;
};

TEST_P(home, T08_it_goes_on_where_it_parked_whatever_it_waited_for) {
  run([] {
    std::int64_t const rounds = scaled(200, 20);
    wait_group all;
    for (int i = 0; i < 20; ++i) {
      all.go([&, i] {
        chan<int> there;
        chan<int> back;
        auto other = spawn([=]() mutable {
          while (auto const got = there.recv()) back.send(*got);
        });
        pipe_ends pipe;
        for (int round = 0; round < rounds; ++round) {
          call_at_home([&] {
            there.send(round);
            EXPECT_EQ(back.recv(), round);
          });
          thrum::yield();  // between two calls it goes where it likes
          if (round % 16 == i % 16) {
            call_at_home([] { sleep_for(100us); });
            call_at_home([] { thrum::yield(); });
            go([&] { pipe.out.write_all("x"); });
            call_at_home([&] {
              std::array<char, 1> got{};
              EXPECT_EQ(pipe.in.read_some(got), 1U);
            });
          }
        }
        there.close();
        other.join();
      });
    }
    all.wait();
    EXPECT_TRUE(no_goroutine_is_at_home());
  });
}

TEST_P(home, T08_errno_is_found_under_the_address_it_had) {
  run([] {
    wait_group all;
    for (int i = 0; i < 20; ++i) {
      all.go([i] {
        int* const kept = errno_address();
        rt::at_home const here;
        for (int round = 0; round < scaled(200, 20); ++round) {
          *kept = 1000 * i + round;
          thrum::yield();
          EXPECT_EQ(*kept, 1000 * i + round);
        }
      });
    }
    all.wait();
  });
}

TEST_P(home, T08_readied_by_a_timer_the_poller_a_deadline_and_threads_from_outside) {
  run([] {
    leave_m0();
    for (int round = 0; round < scaled(20, 5); ++round) {
      call_at_home([] { sleep_for(1ms); });
      pipe_ends pipe;
      call_at_home([&] {
        pipe.in.set_read_deadline(clock::now() + 1ms);
        std::array<char, 1> none{};
        std::error_code error;
        EXPECT_EQ(pipe.in.read_some(none, error), 0U);
        EXPECT_EQ(error, std::errc::timed_out);
      });
      chan<int> news;
      rt::Sched& s = this_sched();
      std::thread outside([&, news]() mutable {
        EXPECT_TRUE(spin_until([&] { return all_procs_are_idle(s); }));  // its thread rests then
        news.send(1);
        EXPECT_TRUE(spin_until([&] { return all_procs_are_idle(s); }));
        EXPECT_EQ(::write(pipe.out.native_handle(), "x", 1), 1);
      });
      call_at_home([&] { EXPECT_EQ(news.recv(), 1); });
      call_at_home([&] {
        pipe.in.set_read_deadline(fd::no_deadline);
        std::array<char, 1> got{};
        EXPECT_EQ(pipe.in.read_some(got), 1U);
      });
      blocking([&] { outside.join(); });
    }
  });
}

TEST_P(home, T08_thousands_wait_on_few_threads) {
  delays_only const quiet;
  run([] {
    std::int64_t const waiters = scaled(5000, 500);
    std::atomic<std::int64_t> inside{0};
    chan<int> start;
    wait_group all;
    for (std::int64_t i = 0; i < waiters; ++i) {
      all.go([&, start]() mutable {
        call_at_home([&] {
          ++inside;
          EXPECT_FALSE(start.recv());
        });
        for (int round = 0; round < 3; ++round) {
          call_at_home([] { sleep_for(500us); });
        }
      });
    }
    EXPECT_TRUE(wait_until([&] { return inside == waiters; }));
    EXPECT_TRUE(few_threads_work(procs() + 4)) << threads_at_work();
    start.close();
    all.wait();
    // A busy machine makes more threads than an idle one, but far from one for each of them.
    EXPECT_LT(num_threads(), 4 * procs() + waiters / 4);
    EXPECT_TRUE(no_goroutine_is_at_home());
  });
}

TEST_P(home, T08_also_the_first_thread_and_one_that_is_locked) {
  int const callers = rt::os::current_tid();
  { rt::at_home const nothing; }
  run([&] {
    EXPECT_EQ(call_at_home([] { sleep_for(1ms); }), callers);  // M0 is no goroutine's home, but main stays
    EXPECT_FALSE(this_g().detour.is_locked);
    EXPECT_EQ(this_g().only_m, nullptr);
    call_at_home([] { spawn([] { sleep_for(1ms); }).join(); });  // not on the stack of one that must stay
    spawn([] {
      os_thread_lock const lock;
      call_at_home([] { sleep_for(1ms); });
      EXPECT_TRUE(this_g().detour.is_locked);
    }).join();
    EXPECT_TRUE(no_goroutine_is_at_home());
    leave_m0();
    call_at_home([] { call_at_home([] { sleep_for(1ms); }); });
    blocking([] { call_at_home([] { sleep_for(1ms); }); });
    EXPECT_TRUE(no_goroutine_is_at_home());
  });
}

// There are more homes than Ps, each with a runnable resident, and no other goroutine is runnable. When the global
// queue has its turn, the P goes to another home. That M runs a resident with the P, and does not pass the P on to the
// next home because of the same turn.
TEST_P(home, T08_many_homes_do_not_pass_a_p_round) {
  run([] {
    leave_m0();
    int const homes = procs() + 40;
    std::atomic<int> inside{0};
    std::atomic<int> back{0};
    wait_group all;
    for (int i = 0; i < homes; ++i) {
      all.go([&] {
        call_at_home([&] {
          // At home, so it blocks its own thread, and each has another one.
          blocking(
              [&] {
                ++inside;
                EXPECT_TRUE(spin_until([&] { return inside == homes; }));
              },
              blocking_hint::long_call);
          for (++back; back < homes;) thrum::yield();
          for (int round = 0; round < 20 * 61; ++round) thrum::yield();
        });
      });
    }
    all.wait();
    EXPECT_TRUE(no_goroutine_is_at_home());
  });
}

TEST_P(home, T08_it_ends_with_the_call_however_that_is_left) {
  run([] {
    leave_m0();
    EXPECT_THROW(call_at_home([] {
                   sleep_for(100us);
                   throw std::runtime_error("from inside");
                 }),
                 std::runtime_error);
    wait_group left;
    left.go([] {
      call_at_home([] {
        sleep_for(100us);
        goexit();
      });
    });
    left.wait();
    EXPECT_TRUE(no_goroutine_is_at_home());
  });
}

TEST_P(home, T08_others_run_on_the_thread_meanwhile_also_one_that_only_yields) {
  in_run_order const undisturbed;
  run([] {
    leave_m0();
    std::atomic<bool> done{false};
    std::atomic<int> at{0};
    chan<int> news;
    go([&, news]() mutable {
      at = call_at_home([&] { EXPECT_EQ(news.recv(), 1); });
      done = true;
    });
    EXPECT_TRUE(wait_until([&] { return waiting_for(rt::wait_reason::chan_receive) == 1; }));
    std::set<int> seen;
    for (int i = 0; i < 100; ++i) {
      seen.insert(rt::os::current_tid());
      thrum::yield();
    }
    news.send(1);
    while (!done) thrum::yield();
    EXPECT_TRUE(procs() > 1 || seen.contains(at)) << "there is one thread for both";
  });
}

// A goroutine that computes keeps its thread, whether or not it is paused. The residents of the thread continue when
// the computation ends.
TEST_P(home, T08_behind_a_computation_on_its_thread) {
  THRUM_SKIP_WITHOUT_ASYNC_PREEMPTION();
  run([] {
    leave_m0();
    wait_group all;
    for (int i = 0; i < 2 * procs() && i < 8; ++i) {
      all.go([&] {
        for (int round = 0; round < 5; ++round) {
          call_at_home([] { sleep_for(1ms); });
          compute_for(3ms);
        }
      });
      all.go([&] {
        compute_for(25ms);
        call_at_home([] { sleep_for(1ms); });
      });
    }
    all.wait();
    EXPECT_TRUE(no_goroutine_is_at_home());
  });
}

TEST_P(home, T08_its_thread_is_not_let_go) {
  run_with({.max_procs = procs(), .idle_thread_after = 5ms}, [] {
    leave_m0();
    constexpr int calls = 20;
    chan<int> news;
    wait_group waiters;
    for (int i = 0; i < 10; ++i) {
      waiters.go([&, news]() mutable { call_at_home([&] { EXPECT_FALSE(news.recv()); }); });
    }
    EXPECT_TRUE(wait_until([] { return waiting_for(rt::wait_reason::chan_receive) == 10; }));
    std::atomic<int> inside{0};
    wait_group all;
    for (int i = 0; i < calls; ++i) {
      all.go([&] {
        blocking(
            [&] {
              ++inside;
              EXPECT_TRUE(spin_until([&] { return inside == calls; }));  // each on a thread of its own
            },
            blocking_hint::long_call);
      });
    }
    all.wait();
    for (int i = 0; i < 1000 && num_threads() > procs() + 12; ++i) sleep_for(5ms);
    EXPECT_LE(num_threads(), procs() + 12);
    sleep_for(50ms);  // the others are not needed either
    news.close();
    waiters.wait();
  });
}

TEST_P(home, T08_a_run_ends_beside_goroutines_that_wait_at_home_or_have_just_been_readied) {
  for (std::int64_t round = 0; round < scaled(20, 5); ++round) {
    run([&] {
      auto* const news = new chan<int>;  // what is left behind refers to it
      auto* const inside = new std::atomic<int>{0};
      for (int i = 0; i < 20; ++i) {
        go([=] {
          rt::at_home const here;
          ++*inside;
          static_cast<void>(news->recv());
          sleep_for(1h);
        });
        go([=] {
          rt::at_home const here;
          for (;;) thrum::yield();
        });
      }
      EXPECT_TRUE(wait_until([&] { return *inside == 20; }));
      if (round % 2 == 0) news->close();
    });
  }
}

TEST_P(home, T08_beside_stops_of_the_world_and_a_changing_number_of_ps) {
  run([] {
    leave_m0();
    std::atomic<bool> stop{false};
    wait_group all;
    for (int i = 0; i < 16; ++i) {
      all.go([&, i] {
        while (!stop) {
          call_at_home([&] { i % 4 == 0 ? sleep_for(50us) : thrum::yield(); });
          if (i % 8 == 1) blocking([] {});
        }
      });
    }
    std::int64_t const rounds = scaled(50, 10);
    for (int i = 0; i < rounds; ++i) {
      set_max_procs(1 + i % procs());
      rt::M& m = *rt::current_m();
      rt::enter_runtime(m);
      { rt::stopped_world const world(m); }
      rt::leave_runtime(m);
      sleep_for(200us);
    }
    stop = true;
    all.wait();
    EXPECT_TRUE(no_goroutine_is_at_home());
  });
}

TEST_P(home, T08_a_dump_shows_it_like_any_other) {
  run([] {
    leave_m0();
    chan<int> news;
    auto waits = spawn([=]() mutable { call_at_home([&] { EXPECT_FALSE(news.recv()); }); });
    EXPECT_TRUE(wait_until([] { return waiting_for(rt::wait_reason::chan_receive) == 1; }));
    std::string const text = dumped();
    EXPECT_NE(text.find("[waiting: chan receive]"), std::string::npos) << text;
    EXPECT_EQ(text.find("locked to thread"), std::string::npos) << text;
    news.close();
    waits.join();
  });
}

class home_deadlock : public child_test {
 protected:
  void SetUp() override { THRUM_SKIP_IF_DEADLOCKS_ARE_NOT_SEEN(); }
};

TEST_F(home_deadlock, T08_one_that_waits_at_home_for_ever_is_a_deadlock) {
  for (int const procs : {1, 2, 8}) {
    EXPECT_FATAL(thrum::run(
                     [] {
                       go([] {
                         rt::at_home const here;
                         wait_group never;
                         never.add(1);
                         never.wait();
                       });
                       while (waiting_for(rt::wait_reason::wait_group) != 1) thrum::yield();
                       rt::at_home const here;
                       wait_group never;
                       never.add(1);
                       never.wait();
                     },
                     {.max_procs = procs}),
                 "fatal error: all goroutines are asleep - deadlock!\n(.*\n)*goroutine 1 \\[waiting: wait group");
  }
}

}  // namespace
}  // namespace thrum::test
