// A run in a constructor: those of the library may not have been called yet.
#include <thrum/thrum.h>

#include <gtest/gtest.h>

namespace thrum::test {
namespace {

// What is called between blocking() and its end goes out of the runtime by the hooks that boot fills.
bool const has_run = [] {
  bool has_yielded = false;
  run([&] {
    blocking([&] {
      yield();
      has_yielded = true;
    });
  });
  return has_yielded;
}();

TEST(before_main, S05_a_run_in_a_constructor) { EXPECT_TRUE(has_run); }

}  // namespace
}  // namespace thrum::test
