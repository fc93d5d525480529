// Threads of the program that call thrum's functions (S38). The suite's tests stand in several files.
#pragma once

#include "support/run_at.h"
#include "support/wait_until.h"
#include <thrum/thrum.h>

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

namespace thrum::test {

// Runs f on a plain thread, and waits as a goroutine until it has ended.
template <class F>
void on_a_thread(F f) {
  std::atomic<bool> ended{false};
  std::thread plain([&] {
    f();
    ended = true;
  });
  ASSERT_TRUE(wait_until([&] { return ended.load(); }));
  plain.join();
}

class foreign_threads : public at_every_width {};

}  // namespace thrum::test
