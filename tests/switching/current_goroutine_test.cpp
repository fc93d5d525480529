// CP-01 at the level of optimisation that this build has.
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

namespace {

#include "switching/current_goroutine.h"

class current_goroutine : public thrum::test::at_every_width {};
THRUM_AT_EVERY_WIDTH(current_goroutine);

TEST_P(current_goroutine, CP01_is_right_after_every_move) {
  thrum::test::with_own_procs const fixed;
  expect_right_answers(procs(), thrum::test::scaled(5'000, 200));
}

}  // namespace
