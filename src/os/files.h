// Calls on files that may keep the thread waiting. All answer 0 or more, or -errno; errno itself stays as it was (T08).
#pragma once

#include <cstddef>
#include <cstdint>

namespace thrum::rt::os {

[[nodiscard]] int open_to_read(char const* path) noexcept;
[[nodiscard]] int open_to_write(char const* path, unsigned permissions) noexcept;
[[nodiscard]] int open_to_append(char const* path, unsigned permissions) noexcept;
[[nodiscard]] int open_to_update(char const* path) noexcept;
[[nodiscard]] int open_exclusively(char const* path, unsigned permissions) noexcept;
[[nodiscard]] long read_at(int fd, void* to, std::size_t bytes, std::uint64_t offset) noexcept;
// The beginning of what is asked for, as far as it is in memory; what is not begins to be fetched. -EAGAIN: not a byte is. Other
// errors may be about this way of reading alone. The offset is positive as an off_t.
[[nodiscard]] long read_from_memory(int fd, void* to, std::size_t bytes, std::uint64_t offset) noexcept;
// A file proper, and nothing that reading takes bytes away from.
[[nodiscard]] bool is_regular(int fd) noexcept;
[[nodiscard]] long write_at(int fd, void const* from, std::size_t bytes, std::uint64_t offset) noexcept;
[[nodiscard]] std::int64_t size_of_file(int fd) noexcept;
[[nodiscard]] int sync_file(int fd) noexcept;
[[nodiscard]] int close_file(int fd) noexcept;
// What /proc calls the file behind a descriptor: "/etc/hosts", "pipe:[4711]". Without a zero at its end; how many bytes.
[[nodiscard]] long path_of_descriptor(int fd, char* to, std::size_t bytes) noexcept;

}  // namespace thrum::rt::os
