// An io_uring instance that is used for one purpose: to learn when a byte of a file is in memory (decision 015).
//
// A question is a read of that byte into a place that is never read. So the kernel never writes to the memory of a
// goroutine. The goroutine that gets the answer copies its bytes with an ordinary read.
//
// A question belongs to the thread that hands it in. The kernel continues the work on that thread, which interrupts its
// other sleeps (EINTR), and cancels the question when the thread ends. So only one thread asks, and it runs no user
// code. Any thread may take answers, one thread at a time. An eventfd in the poller says that there are answers.
//
// It needs no library, only three system calls and two queues. It needs Linux 5.12, because earlier kernels count the
// queues against RLIMIT_MEMLOCK and have worker threads that are not threads of the process. No locks, no allocation.
#pragma once

#include <cstddef>
#include <cstdint>

struct io_uring_sqe;
struct io_uring_cqe;

namespace thrum::rt::os {

inline constexpr unsigned uring_questions_max = 1024;

struct uring_answer {
  void* tag;   // as given to ask()
  int result;  // 1: the byte is in memory; 0: the file ends before it; or -errno
};

class uring {
 public:
  constexpr uring() noexcept = default;
  ~uring() { close(); }
  uring(uring const&) = delete;
  uring& operator=(uring const&) = delete;

  // Returns 0 or the errno, such as ENOSYS or EPERM if the kernel or a sandbox does not allow io_uring. The poller must
  // be open.
  [[nodiscard]] int open() noexcept;
  [[nodiscard]] bool is_open() const noexcept { return fd_ >= 0; }
  // Requires that all questions have been answered.
  void close() noexcept;
  // The same while questions are unanswered. The memory that the kernel may write to stays mapped, and the thread that
  // asked must not end.
  void abandon() noexcept;

  // --- for the one thread that asks ---

  // Prepares a question. At most uring_questions_max questions may be without an answer.
  void ask(int fd, std::uint64_t offset, void* tag) noexcept;
  // Gives the prepared questions to the kernel. Returns how many it did not take; these are the last ones, and they are
  // dropped.
  [[nodiscard]] unsigned hand_in() noexcept;

  // --- for any thread, one at a time ---

  // Writes at most `room` answers to `out` and returns their number.
  [[nodiscard]] int take_answers(uring_answer* out, int room) noexcept;

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
  // offsets of words in queues_, and the masks of the two queues
  std::uint32_t asked_tail_ = 0;
  std::uint32_t answers_head_ = 0;
  std::uint32_t answers_tail_ = 0;
  std::uint32_t asked_mask_ = 0;
  std::uint32_t answers_mask_ = 0;
  unsigned not_handed_in_ = 0;
};

// Whether the kernel may have made worker threads for io_uring, which /proc lists as threads of the process (T13).
[[nodiscard]] bool uring_was_used() noexcept;

}  // namespace thrum::rt::os
