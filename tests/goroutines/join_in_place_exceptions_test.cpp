// In-place join (T07): exceptions, the state of unwinding and errno do not leak from the host into the child, nor back.
#include "goroutines/join_in_place.h"
#include "support/baton.h"
#include <thrum/defer.h>
#include <thrum/go.h>
#include <thrum/runtime.h>
#include <thrum/wait_group.h>

#include <cerrno>
#include <cstdint>
#include <exception>
#include <stdexcept>

#include <gtest/gtest.h>

namespace thrum::test {
namespace {

TEST_P(join_in_place, T07_a_join_inside_a_catch_block_hides_the_hosts_exception) {
  run([&] {
    for (int parks = 0; parks < 2; ++parks) {
      try {
        throw std::runtime_error("host's");
      } catch (std::runtime_error const&) {
        baton b;
        go([&] { b.pass(); });
        auto child = spawn([&] {
          EXPECT_EQ(std::current_exception(), nullptr);
          EXPECT_EQ(std::uncaught_exceptions(), 0);
          if (parks == 1) b.take();
          EXPECT_EQ(std::current_exception(), nullptr);
          try {
            throw std::runtime_error("child's");
          } catch (std::runtime_error const& e) {
            yield();
            EXPECT_STREQ(e.what(), "child's");
            EXPECT_THROW(std::rethrow_exception(std::current_exception()), std::runtime_error);
          }
          throw std::logic_error("out of the child");
        });
        EXPECT_THROW(child.join(), std::logic_error);
        if (parks == 0) b.take();
        try {
          throw;
        } catch (std::runtime_error const& e) {
          EXPECT_STREQ(e.what(), "host's");
        }
      }
      EXPECT_EQ(std::current_exception(), nullptr);
      EXPECT_EQ(std::uncaught_exceptions(), 0);
    }
  });
}

TEST_P(join_in_place, T07_a_join_while_the_host_unwinds) {
  run([&] {
    int ran = 0;
    try {
      defer const joins_while_unwinding = [&] {
        EXPECT_EQ(std::uncaught_exceptions(), 1);
        auto child = spawn([&] {
          EXPECT_EQ(std::uncaught_exceptions(), 0);
          ++ran;
          try {
            throw 1;
          } catch (int) {
            yield();
          }
        });
        child.join();
        auto leaver = spawn([&] {
          defer const sees_nothing = [&] { EXPECT_EQ(std::uncaught_exceptions(), 0); };
          ++ran;
          goexit();
        });
        EXPECT_THROW(leaver.join(), goroutine_exited);
        EXPECT_EQ(std::uncaught_exceptions(), 1);
      };
      throw std::runtime_error("host's");
    } catch (std::runtime_error const& e) {
      EXPECT_STREQ(e.what(), "host's");
    }
    EXPECT_EQ(ran, 2);
    EXPECT_EQ(std::uncaught_exceptions(), 0);
  });
}

// They are functions of their own, because the compiler may keep errno's address while the goroutine changes threads.
[[gnu::noinline]] void set_errno(int value) { errno = value; }
[[gnu::noinline]] int get_errno() { return errno; }

TEST_P(join_in_place, T07_errno_is_the_goroutines_own) {
  run([&] {
    set_errno(EDOM);
    auto child = spawn([&] {
      EXPECT_EQ(get_errno(), 0);
      set_errno(ERANGE);
      yield();
      EXPECT_EQ(get_errno(), ERANGE);
    });
    child.join();
    EXPECT_EQ(get_errno(), EDOM);
  });
}

// An exception that moving the callable throws is the child's, as if its body had thrown it.
TEST_P(join_in_place, T07_a_callable_whose_move_throws_harms_only_the_child) {
  struct moves_twice {
    int moves = 0;
    moves_twice() = default;
    moves_twice(moves_twice&& other) : moves(other.moves + 1) {
      if (moves > 1) throw std::runtime_error("moved once too often");
    }
    int operator()() { return moves; }
  };
  run([&] {
    std::uint64_t const me = this_goroutine::id();
    for (int late = 0; late < 2; ++late) {
      auto child = spawn(moves_twice());
      for (int i = 0; i < 10 * late; ++i) yield();
      EXPECT_THROW(child.join(), std::runtime_error);
      EXPECT_EQ(this_goroutine::id(), me);
      yield();
    }
    wait_group still_works;
    still_works.go([] {});
    still_works.wait();
  });
}

}  // namespace
}  // namespace thrum::test
