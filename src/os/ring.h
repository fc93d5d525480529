// A ring of the kernel's (io_uring), used for one thing: to be told when a byte of a file is in memory (decision 015).
//
// What is asked for is a read of that byte, to a place which nobody reads. So the kernel never holds memory of a goroutine's:
// whoever was told copies what he wants himself, by an ordinary read.
//
// A question belongs to the thread that hands it in. The kernel goes on with it there, which ends that thread's other sleeps
// (EINTR), and takes it back when the thread ends. So one thread asks, and it runs no code of the user's. Answers are taken by
// anybody, one at a time; an event in the poll tells that there are some.
//
// No library is needed for it: three system calls and two queues. Linux 5.12: earlier ones count the queues against
// RLIMIT_MEMLOCK, and have worker threads that are no threads of the process.
#pragma once

#include <cstddef>
#include <cstdint>

struct io_uring_sqe;
struct io_uring_cqe;

namespace thrum::rt::os {

inline constexpr unsigned ring_questions_max = 1024;

struct ring_answer {
  void* who;
  int result;  // 1: it is there; 0: the file ends before it; or -errno
};

class ring {
 public:
  constexpr ring() noexcept = default;
  ~ring() { close(); }
  ring(ring const&) = delete;
  ring& operator=(ring const&) = delete;

  // 0 or the errno: ENOSYS, EPERM and others where the kernel or a sandbox has none for us. The poll is open.
  [[nodiscard]] int open() noexcept;
  [[nodiscard]] bool is_open() const noexcept { return fd_ >= 0; }
  // Nothing is asked any more.
  void close() noexcept;
  // The same with questions left: what the kernel still writes to stays there, and the thread that asked must not end.
  void abandon() noexcept;

  // --- the thread that asks ---

  // At most ring_questions_max are without an answer.
  void ask(int fd, std::uint64_t offset, void* who) noexcept;
  // How many of those asked since the last time, the last ones, the kernel did not take.
  [[nodiscard]] unsigned hand_in() noexcept;

  // --- anybody, one at a time ---

  [[nodiscard]] int take_answers(ring_answer* out, int room) noexcept;

 private:
  void unmap() noexcept;
  [[nodiscard]] std::uint32_t& word(std::uint32_t at) const noexcept;

  int fd_ = -1;
  int event_ = -1;
  char* queues_ = nullptr;
  std::size_t queues_bytes_ = 0;
  io_uring_sqe* questions_ = nullptr;
  std::size_t questions_bytes_ = 0;
  io_uring_cqe const* answers_ = nullptr;
  // where in queues_
  std::uint32_t asked_tail_ = 0;
  std::uint32_t answers_head_ = 0;
  std::uint32_t answers_tail_ = 0;
  std::uint32_t asked_mask_ = 0;
  std::uint32_t answers_mask_ = 0;
  unsigned not_handed_in_ = 0;
};

// Whether the kernel may have made threads for a ring, which are listed as the process's (T13).
[[nodiscard]] bool ring_was_used() noexcept;

}  // namespace thrum::rt::os
