// The buffers (iovecs) of a message, starting at a given byte.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include <sys/uio.h>

namespace thrum::posix {

inline constexpr int parts_max = 1024;                         // the kernel's limit (UIO_MAXIOV)
inline constexpr std::size_t bytes_per_call_max = 0x7ffff000;  // the kernel's limit; one call moves no more bytes

[[nodiscard]] inline std::size_t bytes_in(iovec const* parts, std::size_t count) noexcept {
  std::size_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += parts[i].iov_len;
  return sum < bytes_per_call_max ? sum : bytes_per_call_max;
}

class parts_from {
 public:
  // The buffers from byte `from` on: at most 16 of them and at most `bytes` bytes. The rest is left out, which does no
  // harm, because this is used for streams. None of the buffers is empty.
  parts_from(iovec const* parts, std::size_t count, std::size_t from, std::size_t bytes = bytes_per_call_max) noexcept {
    for (; count > 0 && bytes > 0 && used_ < static_cast<int>(list_.size()); ++parts, --count) {
      if (from >= parts->iov_len) {
        from -= parts->iov_len;
        continue;
      }
      std::size_t const taken = std::min(parts->iov_len - from, bytes);
      list_[static_cast<std::size_t>(used_++)] = {static_cast<char*>(parts->iov_base) + from, taken};
      bytes -= taken;
      from = 0;
    }
  }
  [[nodiscard]] iovec* list() noexcept { return list_.data(); }
  [[nodiscard]] int count() const noexcept { return used_; }

 private:
  std::array<iovec, 16> list_{};
  int used_ = 0;
};

}  // namespace thrum::posix
