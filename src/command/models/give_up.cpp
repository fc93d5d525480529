#include "command/models/give_up.h"

#include <algorithm>
#include <cstdio>

#include <unistd.h>

namespace thrum::command {
namespace {

constexpr int none = -1;
int told_to = none;  // written before there is a task

}  // namespace

message message_of_failure(std::string_view why) noexcept {
  message made;
  std::copy_n(why.begin(), std::min(why.size(), made.error.size() - 1), made.error.begin());
  return made;
}

void tell_failures_to(int descriptor) noexcept { told_to = descriptor; }

void give_up(std::string_view why) noexcept {
  std::array<char, 200> text{};
  int const length = std::snprintf(text.data(), text.size(), "a task could not be started: %.*s",
                                   static_cast<int>(std::min<std::size_t>(why.size(), 150)), why.data());
  std::string_view const whole(text.data(), static_cast<std::size_t>(std::max(length, 0)));
  if (told_to == none) {
    std::fprintf(stderr, "thrum bench: %s\n", text.data());
    ::_exit(1);
  }
  message const told = message_of_failure(whole);
  ::_exit(::write(told_to, &told, sizeof told) == sizeof told ? 0 : 1);
}

}  // namespace thrum::command
