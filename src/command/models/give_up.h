// How a process that measures a model ends when it cannot start a task. The tasks that it has started wait for the one
// that is missing, so they never end, and the process cannot join them. It tells its parent the reason and ends at
// once.
#pragma once

#include "command/models/sizes.h"

#include <array>
#include <exception>
#include <string_view>

namespace thrum::command {

// What a process of its own tells about its run.
struct message {
  measured is{};
  std::array<char, 200> error{};
};
[[nodiscard]] message message_of_failure(std::string_view why) noexcept;

// The descriptor that takes the message of this process. Without one, give_up writes to standard error.
void tell_failures_to(int descriptor) noexcept;

// Thread safety: any thread or task may call it.
[[noreturn]] void give_up(std::string_view why) noexcept;

// Calls start(), which starts a task or a thread.
template <class Start>
void start_or_give_up(Start start) noexcept {
  try {
    start();
  } catch (std::exception const& failure) {
    give_up(failure.what());
  }
}

}  // namespace thrum::command
