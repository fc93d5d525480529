// Makes a failing program smaller. It drops goroutines, operations and cases, and reduces capacities of channels, for
// as long as the program fails.
#pragma once

#include "channels/model/program.h"

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

namespace thrum::test::chan_model {

// Everything that is one step smaller, the largest steps first.
inline std::vector<program> smaller_ones(program const& p) {
  std::vector<program> result;
  for (std::size_t g = 0; g < p.goroutines.size(); ++g) {
    program& less = result.emplace_back(p);
    less.goroutines.erase(less.goroutines.begin() + static_cast<std::ptrdiff_t>(g));
  }
  for (std::size_t g = 0; g < p.goroutines.size(); ++g) {
    for (std::size_t i = 0; i < p.goroutines[g].size(); ++i) {
      program& less = result.emplace_back(p);
      less.goroutines[g].erase(less.goroutines[g].begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  for (std::size_t g = 0; g < p.goroutines.size(); ++g) {
    for (std::size_t i = 0; i < p.goroutines[g].size(); ++i) {
      operation const& op = p.goroutines[g][i];
      for (std::size_t k = 0; op.is_select() && k < op.cases.size(); ++k) {
        program& less = result.emplace_back(p);
        auto& cases = less.goroutines[g][i].cases;
        cases.erase(cases.begin() + static_cast<std::ptrdiff_t>(k));
      }
      if (op.what == verb::select && op.cases.size() == 1) {
        program& plain = result.emplace_back(p);
        plain.goroutines[g][i].what = op.cases[0].sends ? verb::send : verb::recv;
      }
    }
  }
  for (std::size_t c = 0; c < p.capacities.size(); ++c) {
    if (p.capacities[c] == 0) continue;
    program& less = result.emplace_back(p);
    --less.capacities[c];
  }
  return result;
}

// The smallest that is found; `fails` may run a program many times, since a race does not show every time.
inline program shrunk(program failing, std::function<bool(program const&)> const& fails) {
  for (bool again = true; again;) {
    again = false;
    for (program& candidate : smaller_ones(failing)) {
      if (!fails(candidate)) continue;
      failing = std::move(candidate);
      again = true;
      break;
    }
  }
  return failing;
}

}  // namespace thrum::test::chan_model
