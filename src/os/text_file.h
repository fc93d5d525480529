// Reading the small text files of /proc and /sys: no stdio, no allocation, both calls open to fault
// injection. May be called anywhere but in a signal handler.
#pragma once

#include <cstddef>

namespace thrum::rt::os {

// A descriptor or -errno. Read only, closed on exec.
[[nodiscard]] int open_for_reading(char const* path) noexcept;

// Bytes read, 0 at the end, or -errno; starts again when a signal comes between.
[[nodiscard]] long read_some(int descriptor, char* buffer, std::size_t bytes) noexcept;

void close_descriptor(int descriptor) noexcept;

// Fills `buffer` with the beginning of the file and ends it with '\0'. The length without it, or -errno.
[[nodiscard]] long read_text_file(char const* path, char* buffer, std::size_t bytes) noexcept;

}  // namespace thrum::rt::os
