// The tests' own helpers: a hang is told, an allocation inside the runtime is not let pass.
#include "core/current.h"
#include "support/allocations.h"
#include "support/child.h"
#include "support/fatal.h"
#include "support/goroutines.h"
#include "support/run_at.h"
#include <thrum/thrum.h>

#include <cstdlib>
#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace thrum {
namespace {

TEST(watchdog, DISABLED_a_test_that_hangs) {
  test::run_at(2, [] {
    this_goroutine::set_name("the waiter");
    wait_group never;
    never.add(1);
    never.wait();
  });
}

TEST(watchdog, a_test_that_hangs_ends_with_exit_code_3_and_a_list_of_its_goroutines) {
  test::outcome const child = test::run_program(
      test::this_program(),
      {.arguments = "--gtest_also_run_disabled_tests --gtest_filter=watchdog.DISABLED_a_test_that_hangs",
       .environment = "THRUM_TEST_HANG=1"});
  EXPECT_EQ(child.code, 3) << child.text;
  EXPECT_NE(child.text.find("watchdog: watchdog.DISABLED_a_test_that_hangs hangs"), std::string::npos) << child.text;
  EXPECT_NE(child.text.find("goroutine 1 [waiting: wait group] the waiter"), std::string::npos) << child.text;
  EXPECT_NE(child.text.find("M 0"), std::string::npos) << child.text;
}

// The compiler may leave out what is freed unseen.
void* kept(void* made) {
  asm volatile("" : "+r"(made) : : "memory");
  return made;
}

class in_runtime : public test::fatal_test {
 protected:
  void SetUp() override {
    if (!test::allocations_are_seen) GTEST_SKIP() << "sanitizers have a malloc of their own";
  }
};

TEST_F(in_runtime, T01_malloc_with_the_mark_set_ends_the_program) {
  EXPECT_FATAL(test::run_at(1,
                            [] {
                              rt::enter_runtime(*rt::current_m());
                              std::free(kept(std::malloc(1)));
                            }),
               "T01: malloc inside the runtime, on M 0");
}

TEST_F(in_runtime, T01_new_and_free_likewise) {
  EXPECT_FATAL(test::run_at(1,
                            [] {
                              rt::enter_runtime(*rt::current_m());
                              auto const made = std::make_unique<int>(1);
                              kept(made.get());
                            }),
               "T01: malloc inside the runtime");
  EXPECT_FATAL(test::run_at(1,
                            [] {
                              void* const made = kept(std::malloc(1));
                              rt::enter_runtime(*rt::current_m());
                              std::free(made);
                            }),
               "T01: free inside the runtime");
}

TEST_F(in_runtime, T01_user_code_is_never_called_with_the_mark_set) {
  struct looks {
    ~looks() { EXPECT_FALSE(rt::current_m()->in_runtime.load(rt::relaxed)); }
    void operator()() const { EXPECT_FALSE(rt::current_m()->in_runtime.load(rt::relaxed)); }
  };
  test::run_at(2, [] {
    looks const look;
    look();
    wait_group all;
    all.go(looks());
    thrum::go(looks());
    spawn(looks()).join();
    auto detached = spawn([] { return looks(); });
    detached.detach();
    thrum::go([] {
      looks const at_exit;
      goexit();
    });
    local<looks> variable;
    variable->operator()();
    once first;
    first.call(looks());
    thrum::yield();
    look();
    all.wait();
    look();
  });
}

}  // namespace
}  // namespace thrum
