// The tests' main: GoogleTest's, and the guard that lets nobody allocate inside the runtime.
#include "support/allocations.h"

#include <gtest/gtest.h>

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  thrum::test::guard_the_runtime();
  return RUN_ALL_TESTS();
}
