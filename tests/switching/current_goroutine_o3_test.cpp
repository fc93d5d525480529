// CP-01 at -O3, whatever the build has. (clang has no such switch inside a file: there this is the same once more.)
#include "core/current.h"
#include "os/thread.h"
#include "support/baton.h"
#include "support/first_thread.h"
#include "support/run_at.h"
#include "support/scale.h"
#include "support/slices.h"
#include "support/wait_until.h"
#include <thrum/go.h>
#include <thrum/runtime.h>
#include <thrum/wait_group.h>

#include <cstdint>

#include <gtest/gtest.h>

#if defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#pragma GCC optimize("O3")
#endif

namespace {

#include "switching/current_goroutine.h"

class current_goroutine_at_o3 : public thrum::test::at_every_width {};
THRUM_AT_EVERY_WIDTH(current_goroutine_at_o3);

TEST_P(current_goroutine_at_o3, CP01_is_right_after_every_move) {
  thrum::test::with_own_procs const fixed;
  expect_right_answers(procs(), thrum::test::scaled(5'000, 200));
}

}  // namespace
