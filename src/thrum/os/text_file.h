// Reads the small text files of /proc and /sys, without stdio and without allocation. Opening and reading have fault
// injection. May be called anywhere but in a signal handler. No locks.
#pragma once

#include <cstddef>

namespace thrum::rt::os {

// Returns a descriptor or -errno. It is read-only and close-on-exec.
[[nodiscard]] int open_for_reading(char const* path) noexcept;

// Returns the number of bytes read, 0 at the end of the file, or -errno. Repeats the read if a signal interrupts it.
[[nodiscard]] long read_some(int descriptor, char* buffer, std::size_t bytes) noexcept;

void close_descriptor(int descriptor) noexcept;

// Fills `buffer` with the beginning of the file and a final '\0'. Returns the length without the '\0', or -errno.
[[nodiscard]] long read_text_file(char const* path, char* buffer, std::size_t bytes) noexcept;

}  // namespace thrum::rt::os
