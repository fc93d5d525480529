// What is outside the rules is answered at once, with words that name the value and the rule.
#include "support/run_at.h"
#include <thrum/thrum.h>

#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

namespace thrum {
namespace {

using test::run_at;

// What the call throws, which must be an E.
template <class E, class F>
std::string message_of(F call) {
  try {
    call();
  } catch (E const& e) {
    return e.what();
  } catch (std::exception const& e) {
    ADD_FAILURE() << "another exception: " << e.what();
    return "";
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

#define EXPECT_SAYS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

std::string refusal_of(options const& chosen) {
  return message_of<std::invalid_argument>([&] { run([] { ADD_FAILURE() << "main ran"; }, chosen); });
}

TEST(bad_options, max_procs_outside_0_to_1024) {
  for (int const procs : {-1, 1025, -2'000'000'000, 2'000'000'000}) {
    std::string const said = refusal_of({.max_procs = procs});
    EXPECT_SAYS(said, "options::max_procs = " + std::to_string(procs));
    EXPECT_SAYS(said, "0..1024");
  }
}

TEST(bad_options, max_threads_below_1) {
  for (int const threads : {0, -1}) {
    std::string const said = refusal_of({.max_threads = threads});
    EXPECT_SAYS(said, "options::max_threads = " + std::to_string(threads));
    EXPECT_SAYS(said, "1..");
  }
}

TEST(bad_options, stack_size_outside_16_KiB_to_1_GiB) {
  for (std::size_t const bytes :
       {std::size_t{0}, std::size_t{16 * 1024 - 1}, (std::size_t{1} << 30U) + 1, ~std::size_t{0}}) {
    std::string const said = refusal_of({.stack_size = bytes});
    EXPECT_SAYS(said, "options::stack_size = " + std::to_string(bytes));
    EXPECT_SAYS(said, "16384..1073741824");
  }
}

TEST(bad_options, local_queue_capacity_that_is_no_power_of_two_from_4_to_256) {
  for (int const capacity : {-4, 0, 1, 2, 3, 512}) {
    std::string const said = refusal_of({.local_queue_capacity = capacity});
    EXPECT_SAYS(said, "options::local_queue_capacity = " + std::to_string(capacity));
    EXPECT_SAYS(said, "4..256");
  }
  for (int const capacity : {5, 6, 100, 255}) {
    std::string const said = refusal_of({.local_queue_capacity = capacity});
    EXPECT_SAYS(said, "options::local_queue_capacity = " + std::to_string(capacity));
    EXPECT_SAYS(said, "power of two");
  }
}

TEST(bad_options, the_edges_themselves_are_fine) {
  EXPECT_EQ(run([] { return 7; }, {.max_procs = 1024, .stack_size = 16 * 1024, .local_queue_capacity = 4}), 7);
  EXPECT_EQ(run([] { return 8; }, {.max_procs = 1, .max_threads = 1, .stack_size = std::size_t{1} << 30U}), 8);
}

TEST(bad_options, a_refused_run_leaves_the_way_free_for_the_next) {
  static_cast<void>(refusal_of({.max_procs = -1}));
  EXPECT_EQ(run([] { return 3; }), 3);
}

TEST(bad_callables, an_empty_one_is_refused_where_it_is_given) {
  void (*no_function)() = nullptr;
  std::function<void()> const empty;
  EXPECT_SAYS(message_of<std::invalid_argument>([&] { run(no_function); }), "empty");
  EXPECT_SAYS(message_of<std::invalid_argument>([&] { run(empty); }), "empty");
  run_at(1, [&] {
    int const before = num_goroutines();
    EXPECT_SAYS(message_of<std::invalid_argument>([&] { thrum::go(no_function); }), "empty");
    EXPECT_SAYS(message_of<std::invalid_argument>([&] { thrum::go(empty); }), "empty");
    EXPECT_SAYS(message_of<std::invalid_argument>([&] { thrum::go(stack_size{1 << 20U}, empty); }), "empty");
    EXPECT_SAYS(message_of<std::invalid_argument>([&] { static_cast<void>(thrum::spawn(no_function)); }), "empty");
    EXPECT_SAYS(message_of<std::invalid_argument>([&] { static_cast<void>(thrum::spawn(empty)); }), "empty");
    struct object {
      void member() {}
    } one;
    void (object::*no_member)() = nullptr;
    EXPECT_SAYS(message_of<std::invalid_argument>([&] { thrum::go(no_member, &one); }), "empty");
    EXPECT_EQ(num_goroutines(), before) << "none was made";
    bool ran = false;
    thrum::go([&] { ran = true; });
    thrum::yield();
    EXPECT_TRUE(ran) << "and the next one is fine";
  });
}

TEST(bad_callables, one_that_throws_while_it_is_copied_makes_no_goroutine) {
  struct thrower {
    thrower() = default;
    thrower(thrower const&) { throw std::runtime_error("no copy"); }
    void operator()() const {}
  };
  run_at(1, [] {
    thrower const one;
    for (int i = 0; i < 200; ++i) {  // more than a cache of records
      EXPECT_SAYS(message_of<std::runtime_error>([&] { thrum::go(one); }), "no copy");
      EXPECT_SAYS(message_of<std::runtime_error>([&] { static_cast<void>(thrum::spawn(one)); }), "no copy");
    }
    EXPECT_EQ(num_goroutines(), 1);
  });
}

TEST(bad_stack_sizes, are_named) {
  run_at(1, [] {
    for (std::size_t const bytes : {std::size_t{0}, std::size_t{1}, (std::size_t{1} << 30U) + 1}) {
      for (std::string const& said :
           {message_of<std::invalid_argument>([&] { thrum::go(stack_size{bytes}, [] {}); }),
            message_of<std::invalid_argument>([&] { static_cast<void>(thrum::spawn(stack_size{bytes}, [] {})); })}) {
        EXPECT_SAYS(said, "stack_size = " + std::to_string(bytes));
        EXPECT_SAYS(said, "16384..1073741824");
      }
    }
    EXPECT_EQ(num_goroutines(), 1);
  });
}

TEST(outside_a_run, everything_that_needs_a_scheduler_says_so) {
  EXPECT_SAYS(message_of<std::logic_error>([] { thrum::go([] {}); }), "no runtime is alive");
  EXPECT_SAYS(message_of<std::logic_error>([] { static_cast<void>(thrum::spawn([] {})); }), "no runtime is alive");
  EXPECT_SAYS(message_of<std::logic_error>([] { thrum::yield(); }), "only a goroutine");
  EXPECT_SAYS(message_of<std::logic_error>([] { thrum::goexit(); }), "goexit");
  EXPECT_SAYS(message_of<std::logic_error>([] { static_cast<void>(this_goroutine::id()); }), "this_goroutine::id");
  EXPECT_SAYS(message_of<std::logic_error>([] { this_goroutine::set_name("x"); }), "this_goroutine::set_name");
  EXPECT_SAYS(message_of<std::logic_error>([] { static_cast<void>(max_procs()); }), "max_procs");
  EXPECT_SAYS(message_of<std::logic_error>([] { static_cast<void>(num_goroutines()); }), "num_goroutines");
  EXPECT_SAYS(message_of<std::logic_error>([] { static_cast<void>(num_threads()); }), "num_threads");
  EXPECT_SAYS(message_of<std::logic_error>([] { static_cast<void>(read_stats()); }), "read_stats");
  EXPECT_SAYS(message_of<std::logic_error>([] {
                local<int> const variable;
                *variable = 1;
              }),
              "local");
  EXPECT_GE(num_cpus(), 1) << "which is allowed everywhere";
}

TEST(nested_runs, are_refused) {
  run_at(2, [] {
    EXPECT_SAYS(message_of<std::logic_error>([] { run([] { ADD_FAILURE() << "it ran"; }); }),
                "on a goroutine of another run");
    std::string said;
    std::thread([&] { said = message_of<std::logic_error>([] { run([] { ADD_FAILURE() << "it ran"; }); }); }).join();
    EXPECT_SAYS(said, "one at a time");
  });
  EXPECT_EQ(run([] { return 1; }), 1) << "one after another is fine";
}

TEST(bad_joins, twice_or_of_nothing) {
  run_at(1, [] {
    join_handle<int> nothing;
    EXPECT_FALSE(nothing.joinable());
    EXPECT_SAYS(message_of<std::logic_error>([&] { nothing.join(); }), "has no goroutine");
    auto once_only = spawn([] { return 5; });
    EXPECT_TRUE(once_only.joinable());
    EXPECT_EQ(once_only.join(), 5);
    EXPECT_FALSE(once_only.joinable());
    EXPECT_SAYS(message_of<std::logic_error>([&] { once_only.join(); }), "has no goroutine");
    auto moved = spawn([] { return 6; });
    auto const taken = std::move(moved);
    EXPECT_SAYS(message_of<std::logic_error>([&] { moved.join(); }), "has no goroutine");
    auto gone = spawn([]() -> int { goexit(); });
    EXPECT_SAYS(message_of<goroutine_exited>([&] { gone.join(); }), "goexit");
  });
}

TEST(exceptions_of_main, DL_10_leave_run_and_the_next_run_is_fine) {
  EXPECT_SAYS(message_of<std::runtime_error>([] {
                run_at(2, [] {
                  thrum::go([] { thrum::yield(); });
                  throw std::runtime_error("main's own");
                });
              }),
              "main's own");
  EXPECT_EQ(run_at(2, [] { return 9; }), 9);
}

}  // namespace
}  // namespace thrum
