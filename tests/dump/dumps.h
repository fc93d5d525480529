// Goroutines with known functions on their stacks, and what a dump says of them. The suite's tests stand in several
// files.
#pragma once

#include "base/atomic.h"
#include "debug/symbols.h"
#include "support/child.h"
#include "support/run_at.h"
#include <thrum/thrum.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <string>

#include <gtest/gtest.h>

// What follows checks names of functions, so it comes last in a test.
#define THRUM_SKIP_WITHOUT_NAMES() \
  if (!thrum::test::names_are_known()) GTEST_SKIP() << "no libdw: no names of functions to look for"

#define THRUM_SKIP_IF_EMULATED() \
  if (thrum::test::emulated()) GTEST_SKIP() << "what the kernel says of a thread is about the emulator"

#define EXPECT_HAS(text, part) \
  EXPECT_NE((text).find(part), std::string::npos) << (part) << " is missing in:\n" << (text)

namespace thrum::test {

// The part of a dump about the goroutine whose head contains this. It is empty if there is none.
inline std::string about(std::string const& all, std::string const& head) {
  for (std::size_t at = 0; at < all.size();) {
    std::size_t const end = std::min(all.find("\n\n", at), all.size());
    std::string const one = all.substr(at, end - at);
    if (one.substr(0, one.find('\n')).find(head) != std::string::npos) return one;
    at = end + 2;
  }
  return {};
}

inline bool names_are_known() { return rt::symbols().reads_files(); }

[[gnu::noinline]] inline void waits_in_here(chan<int>& c) {
  static_cast<void>(c.recv());
  asm volatile("");
}
[[gnu::noinline]] inline void calls_the_one_that_waits(chan<int>& c) {
  waits_in_here(c);
  asm volatile("");
}

class dump : public at_every_width {};

[[gnu::noinline]] inline void loops_in_here(std::atomic<bool>& is_inside, std::atomic<bool> const& stop) {
  is_inside = true;
  while (!stop) rt::cpu_relax();
}

}  // namespace thrum::test
