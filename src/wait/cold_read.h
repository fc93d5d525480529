// Waiting until bytes of a file are in memory, without keeping a thread (decision 015; core/cold_reads.h).
#pragma once

#include "core/cold_reads.h"

#include <cstdint>

namespace thrum::rt {

struct M;
struct Sched;

// Whether it is worth trying: on a goroutine that does not keep its thread anyway, where there is a ring or none was tried yet.
[[nodiscard]] bool pages_can_be_waited_for() noexcept;

// A read under way. While it lives, the descriptor is not closed by wait_until_unread's callers.
class [[nodiscard]] page_wait {
 public:
  explicit page_wait(int fd) noexcept : read_{.fd = fd} {}
  ~page_wait();
  page_wait(page_wait const&) = delete;
  page_wait& operator=(page_wait const&) = delete;

  // Bytes were asked for in vain. True: so few wait for the disk that this one may read them by a call that keeps the thread.
  [[nodiscard]] bool keeps_thread() noexcept;
  // Parks until the byte is there, of a file proper. False: it must be read by a call that keeps the thread.
  [[nodiscard]] bool wait(std::uint64_t offset) noexcept;

 private:
  M& begin() noexcept;  // inside the runtime from here on

  cold_read read_;
  Sched* run_ = nullptr;  // in which it has begun
};

// Waits until nobody reads from it like that. Closing a file is for one alone; but whoever closes one beside a reader must not have
// it read from another file that gets the number.
void wait_until_unread(int fd) noexcept;

}  // namespace thrum::rt
