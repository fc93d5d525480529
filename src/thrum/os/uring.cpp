#include "os/uring.h"

#include "base/atomic.h"
#include "os/epoll.h"
#include "os/fault.h"
#include "os/kernel.h"

#include <algorithm>
#include <utility>

#include <errno.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#if __has_include(<linux/io_uring.h>)
#include <linux/io_uring.h>
#endif

namespace thrum::rt::os {
namespace {

constinit atomic<bool> used{false};

}  // namespace

bool uring_was_used() noexcept { return used.load(relaxed); }  // relaxed: a lock orders the store before the question

#ifdef IORING_FEAT_NATIVE_WORKERS  // Linux 5.12

namespace {

constexpr std::uint32_t features_needed = IORING_FEAT_SINGLE_MMAP | IORING_FEAT_NODROP | IORING_FEAT_NATIVE_WORKERS;

constinit char unread = 0;  // the kernel writes here and may do so until the process ends, so it is static

// The descriptors of the run that is alive. A child of fork inherits them and closes them.
constinit atomic<int> live_uring{-1};
constinit atomic<int> live_event{-1};

void close_if_open(int fd) noexcept {
  if (fd >= 0) kernel::close(fd);
}

void forget_in_child() noexcept {
  int const errno_before = errno;
  close_if_open(live_uring.exchange(-1, relaxed));  // relaxed: a child of fork has only one thread
  close_if_open(live_event.exchange(-1, relaxed));
  errno = errno_before;
}

[[maybe_unused]] bool const children_forget = ::pthread_atfork(nullptr, nullptr, forget_in_child) == 0;

// The kernel reads and writes the words of the queues too, so they are accessed as atomics.
atomic<std::uint32_t>& shared(std::uint32_t& word) noexcept {
  static_assert(sizeof(atomic<std::uint32_t>) == sizeof word);
  return *reinterpret_cast<atomic<std::uint32_t>*>(&word);
}

// A descriptor or -errno.
int set_up(io_uring_params& made) noexcept {
  if (int injected = 0; should_fail(call::uring_setup, injected)) return -injected;
  auto const fd = static_cast<int>(::syscall(SYS_io_uring_setup, uring_questions_max, &made));
  return fd >= 0 ? fd : -errno;
}

int make_event() noexcept {
  if (int injected = 0; should_fail(call::eventfd, injected)) return -injected;
  int const event = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  return event >= 0 ? event : -errno;
}

// Maps a part of the uring, which a child of fork does not inherit. nullptr: no memory.
void* map_part(int fd, std::size_t bytes, std::uint64_t which) noexcept {
  void* const at =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, static_cast<off_t>(which));
  if (at == MAP_FAILED) return nullptr;
  ::madvise(at, bytes, MADV_DONTFORK);
  return at;
}

}  // namespace

std::uint32_t& uring::word(std::uint32_t at) const noexcept { return *reinterpret_cast<std::uint32_t*>(queues_ + at); }

THRUM_OPAQUE int uring::open() noexcept {
  int const errno_before = errno;
  io_uring_params made{};
  int error = 0;
  fd_ = set_up(made);
  if (fd_ < 0) error = -fd_;
  if (error == 0 && (made.features & features_needed) != features_needed) error = ENOSYS;
  if (error == 0) {
    queues_bytes_ = std::max<std::size_t>(made.sq_off.array + made.sq_entries * sizeof(std::uint32_t),
                                          made.cq_off.cqes + made.cq_entries * sizeof(io_uring_cqe));
    queues_ = static_cast<char*>(map_part(fd_, queues_bytes_, IORING_OFF_SQ_RING));
    questions_bytes_ = made.sq_entries * sizeof(io_uring_sqe);
    questions_ = static_cast<io_uring_sqe*>(map_part(fd_, questions_bytes_, IORING_OFF_SQES));
    if (queues_ == nullptr || questions_ == nullptr) error = ENOMEM;
  }
  if (error == 0) {
    answers_ = reinterpret_cast<io_uring_cqe const*>(queues_ + made.cq_off.cqes);
    asked_tail_ = made.sq_off.tail;
    answers_head_ = made.cq_off.head;
    answers_tail_ = made.cq_off.tail;
    asked_mask_ = word(made.sq_off.ring_mask);
    answers_mask_ = word(made.cq_off.ring_mask);
    auto* const order = reinterpret_cast<std::uint32_t*>(queues_ + made.sq_off.array);
    for (std::uint32_t i = 0; i < made.sq_entries; ++i) order[i] = i;
    event_ = make_event();
    if (event_ < 0) error = -event_;
  }
  if (error == 0 && ::syscall(SYS_io_uring_register, fd_, IORING_REGISTER_EVENTFD, &event_, 1) != 0) error = errno;
  if (error == 0) {
    used.store(true, relaxed);
    live_uring.store(fd_, relaxed);
    live_event.store(event_, relaxed);
    error = poll_add_uring(event_);  // comes last, because other threads can take answers after it
  }
  errno = errno_before;
  if (error != 0) close();
  return error;
}

void uring::unmap() noexcept {
  if (queues_ != nullptr) ::munmap(std::exchange(queues_, nullptr), queues_bytes_);
  if (questions_ != nullptr) ::munmap(std::exchange(questions_, nullptr), questions_bytes_);
}

THRUM_OPAQUE void uring::close() noexcept {
  if (fd_ < 0 && event_ < 0) return;
  int const errno_before = errno;
  unmap();
  int const fd = std::exchange(fd_, -1);
  int const event = std::exchange(event_, -1);
  live_uring.store(-1, relaxed);  // a fork at this moment leaves the child with two open descriptors until it ends
  live_event.store(-1, relaxed);
  // Closing the eventfd does not remove it from the poller if a child of fork has it too.
  if (event >= 0) poll_remove(event);
  close_if_open(event);
  close_if_open(fd);
  errno = errno_before;
}

void uring::abandon() noexcept {
  queues_ = nullptr;
  questions_ = nullptr;
  fd_ = -1;  // it stays open, because closing it would wait for the kernel
  close();
}

void uring::ask(int fd, std::uint64_t offset, void* tag) noexcept {
  std::uint32_t& tail = word(asked_tail_);
  io_uring_sqe& question = questions_[tail & asked_mask_];
  question = {};
  question.opcode = IORING_OP_READ;
  question.fd = fd;
  question.off = offset;
  question.addr = reinterpret_cast<std::uintptr_t>(&unread);
  question.len = 1;
  question.user_data = reinterpret_cast<std::uintptr_t>(tag);
  shared(tail).store(tail + 1, release);  // pairs with the kernel's load in io_uring_enter (hand_in)
  ++not_handed_in_;
}

THRUM_OPAQUE unsigned uring::hand_in() noexcept {
  int const errno_before = errno;
  while (not_handed_in_ != 0) {
    int injected = 0;
    long const taken = should_fail(call::uring_enter, injected)
                           ? -injected
                           : ::syscall(SYS_io_uring_enter, fd_, not_handed_in_, 0, 0, nullptr, 0);
    if (taken > 0) not_handed_in_ -= static_cast<unsigned>(taken);
    if (taken <= 0 && !(taken == -1 && injected == 0 && errno == EINTR)) break;
  }
  // Takes the questions back that the kernel did not take. The kernel reads the tail only in that system call.
  std::uint32_t& tail = word(asked_tail_);
  shared(tail).store(tail - not_handed_in_, relaxed);
  errno = errno_before;
  return std::exchange(not_handed_in_, 0);
}

int uring::take_answers(uring_answer* out, int room) noexcept {
  if (int injected = 0; should_fail(call::uring_answers, injected)) return 0;
  std::uint32_t head = word(answers_head_);
  std::uint32_t const tail = shared(word(answers_tail_)).load(acquire);  // pairs with the kernel's release
  int taken = 0;
  for (; taken < room && head != tail; ++head, ++taken) {
    io_uring_cqe const& answer = answers_[head & answers_mask_];
    out[taken] = {reinterpret_cast<void*>(static_cast<std::uintptr_t>(answer.user_data)), answer.res};
  }
  // release: pairs with the kernel's load, after which it may overwrite these entries
  shared(word(answers_head_)).store(head, release);
  return taken;
}

#else

std::uint32_t& uring::word(std::uint32_t at) const noexcept { return *reinterpret_cast<std::uint32_t*>(queues_ + at); }
void uring::unmap() noexcept {}
int uring::open() noexcept { return ENOSYS; }
void uring::close() noexcept {}
void uring::abandon() noexcept {}
void uring::ask(int, std::uint64_t, void*) noexcept {}
unsigned uring::hand_in() noexcept { return 0; }
int uring::take_answers(uring_answer*, int) noexcept { return 0; }

#endif

}  // namespace thrum::rt::os
