// errno and the exception globals travel with the goroutine (CP-02, T08 as far as thrum's own calls reach).
#include "support/run_at.h"
#include "support/scale.h"
#include <thrum/go.h>
#include <thrum/mutex.h>
#include <thrum/wait_group.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <exception>

#include <gtest/gtest.h>

namespace thrum {
namespace {

// A compiler may keep the address of errno over a call (T08): these ask anew each time.
[[gnu::noinline]] int read_errno() {
  asm volatile("" ::: "memory");
  return errno;
}
[[gnu::noinline]] void write_errno(int value) {
  errno = value;
  asm volatile("" ::: "memory");
}

class errno_of_a_goroutine : public test::at_every_width {};

TEST_P(errno_of_a_goroutine, T09_is_kept_over_yields_and_parks) {
  std::atomic<int> wrong{0};
  run([&] {
    mutex crowded;
    wait_group all;
    for (int i = 1; i <= 20; ++i) {
      all.go([&, i] {
        for (std::int64_t round = 0; round < test::scaled(300, 20); ++round) {
          write_errno(i);
          thrum::yield();
          if (read_errno() != i) ++wrong;
          crowded.lock();
          if (read_errno() != i) ++wrong;
          thrum::yield();
          crowded.unlock();
          if (read_errno() != i) ++wrong;
        }
      });
    }
    all.wait();
  });
  EXPECT_EQ(wrong.load(), 0);
}

TEST_P(errno_of_a_goroutine, T09_a_new_one_starts_with_zero) {
  std::atomic<int> wrong{0};
  run([&] {
    write_errno(77);
    wait_group all;
    for (int i = 0; i < 100; ++i) {
      all.go([&] {
        if (read_errno() != 0) ++wrong;
        write_errno(99);
      });
    }
    all.wait();
    EXPECT_EQ(read_errno(), 77);
    auto child = spawn([&] {
      if (read_errno() != 0) ++wrong;
      write_errno(55);
    });
    child.join();
    EXPECT_EQ(read_errno(), 77) << "a child that ran in place leaves it alone";
  });
  EXPECT_EQ(wrong.load(), 0);
}

THRUM_AT_EVERY_WIDTH(errno_of_a_goroutine);

// --- exceptions ---

class exceptions_of_a_goroutine : public test::at_every_width {};

// Other tests of exceptions are in goroutines/exceptions_test.cpp and goroutines/join_in_place_test.cpp.

// Yields while the stack above it is being unwound.
class yielder {
 public:
  yielder(std::atomic<int>& wrong, int expected) : wrong_(wrong), expected_(expected) {}
  ~yielder() {
    for (int i = 0; i < 3; ++i) {
      if (std::uncaught_exceptions() != expected_) ++wrong_;
      thrum::yield();
    }
    if (std::uncaught_exceptions() != expected_) ++wrong_;
  }
  yielder(yielder const&) = delete;
  yielder& operator=(yielder const&) = delete;

 private:
  std::atomic<int>& wrong_;
  int expected_;
};

TEST_P(exceptions_of_a_goroutine, CP_02_two_in_flight_are_counted_as_two) {
  std::atomic<int> wrong{0};
  run([&] {
    wait_group all;
    for (int i = 0; i < 20; ++i) {
      all.go([&] {
        struct inner {
          std::atomic<int>& count;
          ~inner() {
            try {
              yielder const deep(count, 2);
              throw 2;
            } catch (int) {
              if (std::uncaught_exceptions() != 1) ++count;
            }
          }
        };
        try {
          inner const one{wrong};
          throw 1;
        } catch (int) {
          if (std::uncaught_exceptions() != 0) ++wrong;
        }
      });
    }
    all.wait();
  });
  EXPECT_EQ(wrong.load(), 0);
}

THRUM_AT_EVERY_WIDTH(exceptions_of_a_goroutine);

}  // namespace
}  // namespace thrum
