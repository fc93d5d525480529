// The main function of the tests. It runs GoogleTest, and turns on the check that the runtime does not allocate
// (allocations.h).
#include "support/allocations.h"
#include "support/child.h"

#include <gtest/gtest.h>

int main(int argc, char** argv) {
  thrum::test::learn_how_to_start_children(argc);
  testing::InitGoogleTest(&argc, argv);
  thrum::test::guard_the_runtime();
  return RUN_ALL_TESTS();
}
