// Threads that thrum did not make use a descriptor while runs begin and end. The end of a run stops its goroutines but
// not such a thread, so the thread's use of the descriptor has to count in the next run as well.
#include "core/poll_table.h"
#include "support/child_test.h"
#include "support/sockets.h"
#include "support/wait_until.h"
#include "wait/poll_close.h"
#include "wait/poll_use.h"
#include <thrum/thrum.h>

#include <atomic>
#include <cstdlib>
#include <stdexcept>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>

namespace thrum {
namespace {

using namespace std::chrono_literals;
using rt::poll_side_name;

constexpr int high_number = 500;  // no file that is opened meanwhile gets it

rt::poll_desc& own_copy_of(fd& file) {
  rt::poll_desc* const d =
      rt::take_poll_desc(::fcntl(file.native_handle(), F_DUPFD_CLOEXEC, high_number), rt::poll_kind::other);
  rt::own_poll_desc(*d);
  return *d;
}

bool is_taken(int number) { return ::fcntl(number, F_GETFD) >= 0; }

// Uses it for a moment, as the first of its run.
void use_briefly(rt::poll_desc& d) {
  rt::poll_use use;
  ASSERT_TRUE(use.begin(d));
  use.end(d);
}

// A thread that does one step after the other when it is told to.
class steps {
 public:
  void let(int step) {
    allowed_ = step;
    ASSERT_TRUE(test::wait_until([&] { return done_ == step; }));
  }
  void await(int step) {
    while (allowed_ < step) std::this_thread::yield();
  }
  void did(int step) { done_ = step; }

 private:
  std::atomic<int> allowed_{0};
  std::atomic<int> done_{0};
};

TEST(outsiders_use, keeps_the_descriptors_number_when_another_run_begins) {
  for (bool const begins_in_a_run : {true, false}) {
    auto ab = test::socket_pair();
    rt::poll_desc& d = own_copy_of(ab.a);
    int const number = d.fd;
    steps step;
    std::thread user([&] {
      step.await(1);
      rt::poll_use use;
      EXPECT_TRUE(use.begin(d));
      step.did(1);
      step.await(2);
      use.end(d);
      step.did(2);
    });
    if (begins_in_a_run) {
      run([&] { step.let(1); });
    } else {
      step.let(1);
    }
    run([&] {
      use_briefly(d);
      rt::drop_poll_desc(d);
      EXPECT_TRUE(is_taken(number)) << "another file could get the number while a call is under way";
    });
    EXPECT_TRUE(is_taken(number));
    step.let(2);
    user.join();
    EXPECT_FALSE(is_taken(number)) << "its last user has left";
  }
}

TEST(outsiders_use, of_a_direction_excludes_the_goroutines_of_another_run) {
  auto ab = test::socket_pair();
  rt::poll_desc& d = own_copy_of(ab.a);
  steps step;
  std::atomic<bool> is_held{false};
  std::thread user([&] {
    step.await(1);
    rt::poll_use use;
    EXPECT_TRUE(use.begin(d, poll_side_name::read));
    is_held = true;
    step.did(1);
    step.await(2);
    is_held = false;
    use.end(d, poll_side_name::read);
    step.did(2);
  });
  run([&] { step.let(1); });
  run([&] {
    use_briefly(d);
    std::atomic<bool> waits{false};
    auto other = spawn([&] {
      rt::poll_use use;
      waits = true;
      EXPECT_TRUE(use.begin(d, poll_side_name::read));
      EXPECT_FALSE(is_held) << "two calls had the direction at the same time";
      use.end(d, poll_side_name::read);
    });
    ASSERT_TRUE(test::wait_until([&] { return waits.load(); }));
    for (int i = 0; i < 100; ++i) yield();
    step.let(2);  // it hands the direction to a goroutine of a run that it did not begin in
    other.join();
  });
  user.join();
  rt::drop_poll_desc(d);
}

class outsiders_turns : public test::child_test {};

// Threads that wait for their turn when the run ends stay there for good, so each run has new ones.
void contend_while_runs_come_and_go() {
  static auto ab = test::socket_pair();
  static rt::poll_desc& d = own_copy_of(ab.a);
  static std::atomic<int> holders{0};
  static std::atomic<int> at_once{0};
  static auto const contend = [] {
    for (int i = 0; i < 200; ++i) {
      rt::poll_use use;
      if (!use.begin(d, poll_side_name::read)) std::_Exit(3);
      if (holders.fetch_add(1) != 0) ++at_once;
      std::atomic_thread_fence(std::memory_order_seq_cst);
      if (i % 16 == 0) std::this_thread::yield();
      holders.fetch_sub(1);
      use.end(d, poll_side_name::read);
    }
  };
  for (int round = 0; round < 100; ++round) {
    for (int i = 0; i < 2; ++i) {
      std::thread([] {
        try {
          contend();
        } catch (std::logic_error const&) {  // it would have had to wait, and no run was alive
        }
      }).detach();
    }
    run([] {
      wait_group all;
      for (int i = 0; i < 3; ++i) all.go(contend);
      all.wait();
    });
  }
  if (at_once != 0) std::_Exit(4);
  run([] {
    auto last = spawn([] {
      rt::poll_use use;
      if (!use.begin(d, poll_side_name::read)) std::_Exit(5);
      use.end(d, poll_side_name::read);
    });
    last.join();  // for ever, if a run that is over has left the direction locked
  });
  std::_Exit(0);
}

TEST_F(outsiders_turns, end_with_their_run_and_never_meet_those_of_the_next) {
  EXPECT_EXIT(contend_while_runs_come_and_go(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace thrum
