// The names of system calls in which threads often sleep, for reports.
#pragma once

namespace thrum::rt::os {

// Returns nullptr for a call that does not usually make a thread wait. May be called anywhere.
[[nodiscard]] char const* name_of_call(long number) noexcept;

}  // namespace thrum::rt::os
