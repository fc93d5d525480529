// What the tests of joining in place share. The suite's tests stand in several files.
#pragma once

#include "core/current.h"
#include "support/run_at.h"
#include <thrum/runtime.h>

#include <cstdint>

#include <gtest/gtest.h>

namespace thrum::test {

[[gnu::noinline]] inline bool is_hosted() { return rt::current_m()->current->is_hosted; }
[[gnu::noinline]] inline int m_id() { return rt::current_m()->id; }

inline std::uint64_t joined_in_place() {
  std::uint64_t sum = 0;
  for (auto const& p : read_stats().procs) sum += p.joined_in_place;
  return sum;
}

class join_in_place : public at_every_width {};

}  // namespace thrum::test
