// Waiting until bytes of a file are in memory, without keeping a thread (decision 015; core/cold_reads.h).
#pragma once

#include "core/cold_reads.h"

#include <cstdint>

namespace thrum::rt {

struct M;
struct Sched;

// Whether a wait is worth trying. That is so on a goroutine that does not keep its thread anyway, if there is an
// io_uring or none was tried yet.
[[nodiscard]] bool pages_can_be_waited_for() noexcept;

// A read that is under way. While this object lives, the callers of wait_until_unread do not close the descriptor.
class [[nodiscard]] page_wait {
 public:
  explicit page_wait(int fd) noexcept : read_{.fd = fd} {}
  ~page_wait();
  page_wait(page_wait const&) = delete;
  page_wait& operator=(page_wait const&) = delete;

  // The bytes were not in memory. Returns true if so few reads wait for the disk that this one may use a call that
  // keeps the thread.
  [[nodiscard]] bool keeps_thread() noexcept;
  // Parks until the byte at `offset` is in memory; the descriptor is that of a regular file. Returns false if the byte
  // has to be read by a call that keeps the thread.
  [[nodiscard]] bool wait(std::uint64_t offset) noexcept;

 private:
  M& begin() noexcept;  // the caller is inside the runtime from here on

  cold_read read_;
  Sched* run_ = nullptr;  // the run in which the read has begun
};

// Waits until no page_wait of fd is alive. A program should close a file only when nothing else uses it. But if it does
// close a file while a goroutine reads from it, that goroutine must not read from another file that gets the same
// number.
void wait_until_unread(int fd) noexcept;

}  // namespace thrum::rt
