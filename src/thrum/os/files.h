// Calls on files. They may block the thread, except read_from_memory.
//
// All functions but is_regular and is_open_to_write return 0 or more, or -errno, and all leave errno unchanged (T08).
// No locks, no allocation.
#pragma once

#include <cstddef>
#include <cstdint>

namespace thrum::rt::os {

[[nodiscard]] int open_to_read(char const* path) noexcept;
[[nodiscard]] int open_to_write(char const* path, unsigned permissions) noexcept;
// The same for a file that no other process is to write meanwhile. Returns -EBUSY, and leaves the file as it is, if
// another process has opened it in this way and has not closed it. Devices and file systems without locks are not
// protected. The lock is the process's: it ends when this process closes any descriptor of that file.
[[nodiscard]] int open_to_write_alone(char const* path, unsigned permissions) noexcept;
[[nodiscard]] int open_to_append(char const* path, unsigned permissions) noexcept;
[[nodiscard]] int open_to_update(char const* path) noexcept;
[[nodiscard]] int open_exclusively(char const* path, unsigned permissions) noexcept;
// A file in the directory that has no name, and that goes away with its last descriptor.
[[nodiscard]] int open_without_name(char const* directory) noexcept;
[[nodiscard]] long read_at(int fd, void* to, std::size_t bytes, std::uint64_t offset) noexcept;
// Reads the leading bytes that are in memory, and starts fetching the others. Returns -EAGAIN if the first byte is not
// in memory. Other errors may concern only this way of reading, so an ordinary read may succeed. The offset must be
// positive as an off_t.
[[nodiscard]] long read_from_memory(int fd, void* to, std::size_t bytes, std::uint64_t offset) noexcept;
// Whether it is a regular file, so that reading does not consume the bytes.
[[nodiscard]] bool is_regular(int fd) noexcept;
[[nodiscard]] bool is_open_to_write(int fd) noexcept;
[[nodiscard]] long write_at(int fd, void const* from, std::size_t bytes, std::uint64_t offset) noexcept;
[[nodiscard]] std::int64_t size_of_file(int fd) noexcept;
[[nodiscard]] int sync_file(int fd) noexcept;
[[nodiscard]] int close_file(int fd) noexcept;
// Writes /proc's name of the file behind a descriptor, such as "/etc/hosts" or "pipe:[4711]", without a final zero, and
// returns its length in bytes.
[[nodiscard]] long path_of_descriptor(int fd, char* to, std::size_t bytes) noexcept;

}  // namespace thrum::rt::os
