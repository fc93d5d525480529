// An exception belongs to its goroutine (CP-02). An exception that is not caught ends the program with a report
// (DL-10).
#include "base/atomic.h"
#include "support/baton.h"
#include "support/child_test.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/wait_until.h"
#include <thrum/defer.h>
#include <thrum/go.h>
#include <thrum/runtime.h>
#include <thrum/wait_group.h>

#include <cstdio>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

namespace thrum::test {
namespace {

class exceptions : public at_every_width {};
THRUM_AT_EVERY_WIDTH(exceptions);

// What is in flight or being handled belongs to the goroutine, wherever it goes on.
void throw_and_wander(int number, int rounds) {
  std::string const text = "number " + std::to_string(number);
  for (int round = 0; round < rounds; ++round) {
    ASSERT_EQ(std::current_exception(), nullptr);
    ASSERT_EQ(std::uncaught_exceptions(), 0);
    try {
      defer const while_unwinding = [&] {
        ASSERT_EQ(std::uncaught_exceptions(), 1);
        yield();
        ASSERT_EQ(std::uncaught_exceptions(), 1);
        try {
          throw number;
        } catch (int caught) {
          yield();
          ASSERT_EQ(caught, number);
        }
        ASSERT_EQ(std::uncaught_exceptions(), 1);
      };
      throw std::runtime_error(text);
    } catch (std::runtime_error const& e) {
      ASSERT_EQ(std::uncaught_exceptions(), 0);
      yield();
      ASSERT_EQ(e.what(), text);
      std::exception_ptr const mine = std::current_exception();
      try {
        throw std::logic_error(text);
      } catch (std::logic_error const& inner) {
        yield();
        ASSERT_EQ(inner.what(), text);
        ASSERT_NE(std::current_exception(), mine);
      }
      ASSERT_EQ(std::current_exception(), mine);
      yield();
      try {
        throw;
      } catch (std::runtime_error const& again) {
        ASSERT_EQ(again.what(), text);
      }
    }
  }
}

TEST_P(exceptions, CP02_a_hundred_goroutines_throw_catch_and_wander) {
  int const rounds = static_cast<int>(scaled(100, 10));
  run([&] {
    wait_group ended;
    for (int i = 0; i < 100; ++i) {
      ended.go([i, rounds] { throw_and_wander(i, rounds); });
    }
    throw_and_wander(-1, rounds);
    ended.wait();
  });
}

// The same with waiting instead of yielding. The goroutines continue on the P of their waker.
TEST_P(exceptions, CP02_a_goroutine_waits_inside_its_handler) {
  run([&] {
    baton there;
    baton back;
    int const rounds = static_cast<int>(scaled(2000, 100));
    auto const handle = [rounds](baton& mine, baton& others, bool begins, char const* text) {
      for (int i = 0; i < rounds; ++i) {
        try {
          throw std::runtime_error(text);
        } catch (std::runtime_error const& e) {
          if (begins) others.pass();
          mine.take();
          if (!begins) others.pass();
          ASSERT_STREQ(e.what(), text);
          ASSERT_NE(std::current_exception(), nullptr);
        }
        ASSERT_EQ(std::current_exception(), nullptr);
      }
    };
    wait_group ended;
    ended.go([&] { handle(there, back, true, "one"); });
    ended.go([&] { handle(back, there, false, "the other"); });
    ended.wait();
  });
}

// A goroutine begins without its maker's exception.
TEST_P(exceptions, CP02_a_goroutine_made_in_a_handler_begins_with_none) {
  run([&] {
    wait_group ended;
    try {
      throw std::runtime_error("the maker's");
    } catch (std::runtime_error const&) {
      for (int i = 0; i < 10; ++i) {
        ended.go([] {
          EXPECT_EQ(std::current_exception(), nullptr);
          EXPECT_EQ(std::uncaught_exceptions(), 0);
        });
      }
      ended.wait();
      EXPECT_NE(std::current_exception(), nullptr);
    }
  });
}

// --- DL-10: exceptions that are not caught ---

class panics : public child_test {};

[[gnu::noinline]] void thrower() { throw std::runtime_error("boom"); }

void panic_with(std::function<void()> const& f) {
  thrum::run(
      [&] {
        wait_group never;
        never.add(1);
        go([&] { f(); });
        never.wait();
      },
      {.max_procs = 2});
}

TEST_F(panics, DL10_the_report_names_the_exception_the_goroutine_and_its_maker) {
  EXPECT_FATAL(panic_with([] { thrower(); }),
               "^panic: boom\ngoroutine [0-9]+ \\[running\\]\n(.*\n)*created by goroutine 1\n");
}

TEST_F(panics, DL10_the_goroutines_name_is_shown) {
  EXPECT_FATAL(panic_with([] {
                 this_goroutine::set_name("worker seven");
                 thrower();
               }),
               "goroutine [0-9]+ \\[running\\] worker seven\n");
}

TEST_F(panics, DL10_an_exception_that_is_no_std_exception) {
  EXPECT_FATAL(panic_with([] { throw 42; }), "^panic: .*int");
  EXPECT_FATAL(panic_with([] { throw "only text"; }), "^panic: only text\n");
}

TEST_F(panics, DL10_nothing_is_unwound_before_the_report) {
  EXPECT_FATAL(panic_with([] {
                 defer const too_late = [] { std::fputs("UNWOUND\n", stderr); };
                 thrower();
               }),
               "^panic: boom\n");
  // A handler for another type on the way does not count either.
  EXPECT_FATAL(panic_with([] {
                 try {
                   thrower();
                 } catch (std::logic_error const&) {
                 }
               }),
               "^panic: boom\n");
}

TEST_F(panics, DL10_after_a_move_and_inside_a_handler) {
  EXPECT_FATAL(panic_with([] {
                 try {
                   throw 1;
                 } catch (int) {
                   for (int i = 0; i < 10; ++i) yield();
                   thrower();
                 }
               }),
               "^panic: boom\n");
}

TEST_F(panics, DL10_a_child_of_a_hosted_goroutine_names_itself) {
  EXPECT_FATAL(thrum::run([] {
                 auto child = spawn([] {
                   std::fprintf(stderr, "child is %llu\n", static_cast<unsigned long long>(this_goroutine::id()));
                   wait_group never;
                   never.add(1);
                   go([] { thrower(); });
                   never.wait();
                 });
                 child.join();
               }),
               "child is 2\npanic: boom\ngoroutine [0-9]+ \\[running\\]\n(.*\n)*created by goroutine 2\n");
}

TEST_F(panics, DL10_on_panic_has_the_last_word) {
  EXPECT_FATAL(
      {
        on_panic([](panic_info const& info) {
          std::fprintf(stderr, "last word on %s of %llu\n", info.what, static_cast<unsigned long long>(info.goroutine));
        });
        panic_with([] { thrower(); });
      },
      "panic: boom\n(.*\n)*last word on boom of [0-9]+\n");
  EXPECT_FATAL(
      {
        on_panic([](panic_info const&) { throw std::runtime_error("another"); });
        panic_with([] { thrower(); });
      },
      "panic: boom\n");
}

TEST_F(panics, DL10_two_at_once_make_one_report) {
  EXPECT_FATAL(thrum::run(
                   [] {
                     wait_group never;
                     never.add(1);
                     for (int i = 0; i < 20; ++i) go([] { thrower(); });
                     never.wait();
                   },
                   {.max_procs = 8}),
               "^panic: boom\n");
}

// --- DL-13: mistakes that are exceptions where they are made ---

TEST_P(exceptions, DL13_an_empty_callable_throws_where_it_is_given) {
  run([&] {
    using function_pointer = void (*)();
    EXPECT_THROW(go(std::function<void()>()), std::invalid_argument);
    EXPECT_THROW(go(function_pointer{nullptr}), std::invalid_argument);
    EXPECT_THROW(go(stack_size{1U << 20U}, std::function<void()>()), std::invalid_argument);
    EXPECT_THROW(static_cast<void>(spawn(std::function<int()>())), std::invalid_argument);
    EXPECT_THROW(static_cast<void>(spawn(function_pointer{nullptr})), std::invalid_argument);
    wait_group group;
    EXPECT_THROW(group.go(std::function<void()>()), std::invalid_argument);
    group.wait();  // it was not counted
    EXPECT_EQ(num_goroutines(), 1);
  });
  EXPECT_THROW(thrum::run(std::function<void()>()), std::invalid_argument);
}

// Callables that cannot be compared with nullptr, functions by name, and arguments that are only movable.
int twice(int n) { return 2 * n; }

TEST_P(exceptions, DL13_whatever_can_be_called_is_accepted) {
  run([&] {
    EXPECT_EQ(spawn(twice, 4).join(), 8);
    EXPECT_EQ(spawn(&twice, 5).join(), 10);
    struct object {
      int value = 3;
      int method(int n) { return value * n; }
    } thing;
    EXPECT_EQ(spawn(&object::method, &thing, 7).join(), 21);
    EXPECT_EQ(spawn(std::function<int(int)>(twice), 6).join(), 12);
    auto generic = [](auto n) { return n + 1; };
    EXPECT_EQ(spawn(generic, 6).join(), 7);
    wait_group ended;
    ended.add(1);
    go(
        [](std::string const& text, wait_group* group) {
          EXPECT_EQ(text, "by value");
          group->done();
        },
        "by value", &ended);
    ended.wait();
  });
}

// A callable whose copy throws leaves no trace.
TEST_P(exceptions, DL13_a_callable_that_cannot_be_stored) {
  struct throws_when_copied {
    throws_when_copied() = default;
    throws_when_copied(throws_when_copied const&) { throw std::runtime_error("copy"); }
    void operator()() {}
  };
  run([&] {
    throws_when_copied const f;
    for (int i = 0; i < 100; ++i) {
      EXPECT_THROW(go(f), std::runtime_error);
      EXPECT_THROW(static_cast<void>(spawn(f)), std::runtime_error);
    }
    EXPECT_EQ(num_goroutines(), 1);
  });
}

}  // namespace
}  // namespace thrum::test
