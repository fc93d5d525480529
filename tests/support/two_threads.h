// How late a plain thread is that another thread wakes: what a wake-up costs on this machine at this moment, without a
// scheduler of goroutines.
#pragma once

#include "support/gate.h"
#include <thrum/clock.h>

#include <chrono>
#include <thread>

namespace thrum::test {

// A thread sleeps for a millisecond and then wakes another one. Where a goroutine waits for sysmon and for the M that
// sysmon starts, these two do the same.
[[nodiscard]] inline std::chrono::nanoseconds lateness_of_two_threads() {
  gate due_now;
  auto const due = clock::now() + std::chrono::milliseconds(1);
  std::chrono::nanoseconds late{};
  std::thread woken([&] {
    due_now.wait();
    late = clock::now() - due;
  });
  std::thread waits([&] {
    std::this_thread::sleep_for(due - clock::now());
    due_now.open();
  });
  waits.join();
  woken.join();
  return late;
}

}  // namespace thrum::test
