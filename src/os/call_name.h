// The names of system calls in which threads are found asleep, for reports.
#pragma once

namespace thrum::rt::os {

// nullptr: none of those that usually keep a thread waiting.
[[nodiscard]] char const* name_of_call(long number) noexcept;

}  // namespace thrum::rt::os
