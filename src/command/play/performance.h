// What became of a scenario.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <string>
#include <vector>

namespace thrum::command {

enum class ending : std::uint8_t {
  finished,             // all goroutines have ended
  deadlock,             // those that are left wait for each other
  time_limit,           // the scenario's `limit`
  too_many_goroutines,  // more than scenario_goroutines_max
  too_many_statements,  // more than scenario_statements_max
  fault,                // a goroutine has done what is an error, such as sending on a closed channel
};

struct performance {
  ending how = ending::finished;
  std::string why{};                              // a sentence. Empty if all goroutines have ended
  std::chrono::steady_clock::time_point until{};  // when it ended: what is in the trace later does not belong to it
  std::vector<std::string> still_there{};  // what the goroutines did that had not ended: "G5 worker, line 7: recv c"
};

// The trace of the scenario cannot be written, because another one is being written (THRUM_TRACE).
class another_trace final : public std::exception {
 public:
  [[nodiscard]] char const* what() const noexcept override { return "another trace is being written"; }
};

}  // namespace thrum::command
