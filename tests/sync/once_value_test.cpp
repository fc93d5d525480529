#include "support/run_at.h"
#include "support/scale.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>

#include <gtest/gtest.h>

namespace thrum {
namespace {

using test::run_at;
using test::scaled;

class once_values : public test::at_every_width {};

TEST_P(once_values, SY_10_ten_racing_callers_compute_it_once_and_all_get_the_same) {
  std::atomic<int> wrong{0};
  run([&] {
    for (std::int64_t round = 0; round < scaled(1000, 50); ++round) {
      int runs = 0;  // plain: the call orders it
      once_value text([&] {
        ++runs;
        if (round % 2 == 0) thrum::yield();
        return std::string("computed once");
      });
      std::atomic<std::string const*> first{nullptr};
      wait_group all;
      for (int i = 0; i < 10; ++i) {
        all.go([&] {
          std::string const& got = text();
          std::string const* none = nullptr;
          if (!first.compare_exchange_strong(none, &got) && none != &got) ++wrong;
          if (got != "computed once" || runs != 1) ++wrong;
        });
      }
      all.wait();
    }
  });
  EXPECT_EQ(wrong.load(), 0);
}

TEST_P(once_values, SY_10_every_call_throws_the_same_exception) {
  run([&] {
    int runs = 0;
    once_value failing([&]() -> int {
      ++runs;
      thrum::yield();
      throw std::runtime_error("no such file");
    });
    std::atomic<std::exception const*> thrown{nullptr};
    std::atomic<int> same{0};
    wait_group all;
    for (int i = 0; i < 10; ++i) {
      all.go([&] {
        try {
          failing();
          ADD_FAILURE() << "it has no value";
        } catch (std::runtime_error const& e) {
          std::exception const* none = nullptr;
          if (thrown.compare_exchange_strong(none, &e) || none == &e) ++same;
          EXPECT_STREQ(e.what(), "no such file");
        }
      });
    }
    all.wait();
    EXPECT_EQ(same.load(), 10) << "the same object, not a copy";
    EXPECT_EQ(runs, 1);
  });
}

TEST_P(once_values, SY_10_one_that_leaves_by_goexit_has_no_value) {
  run([&] {
    once_value never([]() -> int { goexit(); });
    wait_group all;
    all.go([&] {
      never();
      ADD_FAILURE() << "goexit returned";
    });
    all.wait();
    EXPECT_THROW(never(), goroutine_exited);
    EXPECT_THROW(never(), goroutine_exited);
  });
}

THRUM_AT_EVERY_WIDTH(once_values);

TEST(once_value_kinds, void_references_and_what_can_only_be_moved) {
  run_at(1, [] {
    int runs = 0;
    once_value nothing([&] { ++runs; });
    static_assert(std::is_void_v<decltype(nothing())>);
    nothing();
    nothing();
    EXPECT_EQ(runs, 1);

    int target = 7;
    once_value reference([&]() -> int& { return target; });
    static_assert(std::is_same_v<decltype(reference()), int&>);
    EXPECT_EQ(&reference(), &target);

    once_value pointer([] { return std::make_unique<int>(42); });
    EXPECT_EQ(*pointer(), 42);
    EXPECT_EQ(pointer().get(), pointer().get());
  });
}

TEST(once_value_kinds, the_function_is_destroyed_when_it_has_run) {
  run_at(1, [] {
    auto const resource = std::make_shared<int>(1);
    once_value taken([resource] { return *resource; });
    EXPECT_EQ(resource.use_count(), 2);
    EXPECT_EQ(taken(), 1);
    EXPECT_EQ(resource.use_count(), 1);
    EXPECT_EQ(taken(), 1);

    once_value failing([resource]() -> int { throw *resource; });
    EXPECT_THROW(failing(), int);
    EXPECT_EQ(resource.use_count(), 1);
    EXPECT_THROW(failing(), int);
  });
}

TEST(once_value_kinds, an_empty_callable_is_refused_at_once) {
  EXPECT_THROW(once_value<std::function<int()>>(std::function<int()>()), std::invalid_argument);
}

TEST(once_value_kinds, a_call_may_come_from_outside_a_run) {
  once_value first_outside([] { return 41; });
  EXPECT_EQ(first_outside(), 41);
  run_at(1, [&] { EXPECT_EQ(first_outside(), 41); });

  once_value first_inside([] { return 42; });
  run_at(1, [&] { EXPECT_EQ(first_inside(), 42); });
  EXPECT_EQ(first_inside(), 42);
}

}  // namespace
}  // namespace thrum
