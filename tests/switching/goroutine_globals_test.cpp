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
#include <stdexcept>
#include <string>

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

std::string what_is_current() {
  try {
    if (!std::current_exception()) return "none";
    throw;
  } catch (std::exception const& e) {
    return e.what();
  } catch (...) {
    return "?";
  }
}

TEST_P(exceptions_of_a_goroutine, CP_02_a_handler_may_yield_while_a_hundred_others_throw) {
  std::atomic<int> wrong{0};
  run([&] {
    wait_group all;
    for (int i = 0; i < 100; ++i) {
      all.go([&, mine = std::to_string(i)] {
        for (std::int64_t round = 0; round < test::scaled(30, 3); ++round) {
          try {
            throw std::runtime_error(mine);
          } catch (std::exception const& e) {
            thrum::yield();
            if (e.what() != mine || what_is_current() != mine || std::uncaught_exceptions() != 0) ++wrong;
            try {
              throw std::logic_error("nested " + mine);
            } catch (std::exception const&) {
              thrum::yield();
              if (what_is_current() != "nested " + mine) ++wrong;
            }
            thrum::yield();
            if (what_is_current() != mine) ++wrong;
          }
          if (std::current_exception()) ++wrong;
        }
      });
    }
    all.wait();
  });
  EXPECT_EQ(wrong.load(), 0);
}

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

TEST_P(exceptions_of_a_goroutine, CP_02_destructors_may_yield_while_unwinding) {
  std::atomic<int> wrong{0};
  run([&] {
    wait_group all;
    for (int i = 0; i < 50; ++i) {
      all.go([&, i] {
        for (std::int64_t round = 0; round < test::scaled(30, 3); ++round) {
          try {
            yielder const unwound(wrong, 1);
            throw i;
          } catch (int caught) {
            if (caught != i) ++wrong;
          }
          yielder const ordinary(wrong, 0);
        }
      });
    }
    all.wait();
  });
  EXPECT_EQ(wrong.load(), 0);
}

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

TEST_P(exceptions_of_a_goroutine, CP_02_a_handler_may_park) {
  run([&] {
    wait_group begun;
    wait_group all;
    mutex gate;
    gate.lock();
    begun.add(20);
    std::atomic<int> wrong{0};
    for (int i = 0; i < 20; ++i) {
      all.go([&, i] {
        try {
          throw i;
        } catch (int const& mine) {
          begun.done();
          gate.lock();
          gate.unlock();
          if (mine != i || !std::current_exception()) ++wrong;
        }
      });
    }
    begun.wait();
    EXPECT_FALSE(std::current_exception());
    gate.unlock();
    all.wait();
    EXPECT_EQ(wrong.load(), 0);
  });
}

TEST_P(exceptions_of_a_goroutine, T07_a_child_joined_in_place_inside_a_handler_sees_none) {
  run([&] {
    try {
      throw std::runtime_error("the joiner's");
    } catch (std::exception const&) {
      auto child = spawn([] {
        bool const saw_one = static_cast<bool>(std::current_exception());
        try {
          throw std::runtime_error("the child's");
        } catch (std::exception const&) {
          thrum::yield();
        }
        return saw_one;
      });
      EXPECT_FALSE(child.join());
      EXPECT_EQ(what_is_current(), "the joiner's");
    }
  });
}

TEST_P(exceptions_of_a_goroutine, T07_a_child_joined_while_unwinding_sees_no_uncaught_one) {
  run([&] {
    int seen_by_child = -1;
    int seen_after = -1;
    struct joins {
      int& child_count;
      int& after;
      ~joins() {
        auto child = spawn([] { return std::uncaught_exceptions(); });
        child_count = child.join();
        after = std::uncaught_exceptions();
      }
    };
    try {
      joins const at_end{seen_by_child, seen_after};
      throw 1;
    } catch (int) {
    }
    EXPECT_EQ(seen_by_child, 0);
    EXPECT_EQ(seen_after, 1);
  });
}

THRUM_AT_EVERY_WIDTH(exceptions_of_a_goroutine);

}  // namespace
}  // namespace thrum
