// Reads of files that wait for the disk without keeping a thread (decision 015). Passive: it returns the goroutines
// that are to be readied.
//
// A goroutine whose bytes are not in memory parks, and its record is queued. The thread maker takes the records out of
// the queue and asks the kernel's io_uring. The thread that finds the uring's event in the poller takes the answers and
// readies the goroutines. So a record, which lies on the goroutine's stack, belongs in turn to the queue, to the thread
// maker, to the kernel, which names it in its answer, and then to the goroutine.
//
// While only a few reads are under way, each keeps its thread, because a thread that sleeps in the read costs less than
// the uring does.
//
// There is room for uring_questions_max reads at a time. A goroutine claims its room before it parks, so no queue of
// the kernel can be full.
#pragma once

#include "base/atomic.h"
#include "core/counters.h"
#include "core/entry.h"
#include "core/g.h"
#include "os/lock.h"
#include "os/uring.h"

#include <cstdint>

namespace thrum::rt {

struct cold_read {
  int fd;
  std::uint64_t offset = 0;
  G* g = nullptr;
  int answer = 0;               // as in os::uring_answer
  cold_read* queued = nullptr;  // the next in the queue
  // in the list of all reads that are under way, until the goroutine has its bytes
  cold_read* next = nullptr;
  cold_read* previous = nullptr;
};

class cold_reads {
 public:
  // What opening the uring has led to.
  enum class uring_state : std::uint8_t { untried, open, refused };
  [[nodiscard]] bool may_be_asked() const noexcept { return uring_state_.load(relaxed) != uring_state::refused; }

  // --- the goroutine that reads ---

  void begin(cold_read& r) noexcept;
  void end(cold_read& r) noexcept;
  // Whether a read from fd has begun and not ended.
  [[nodiscard]] bool are_of(int fd) noexcept;

  // Whether so few reads are under way that each of them keeps its thread.
  [[nodiscard]] bool are_few() const noexcept;

  // Claims room for one read. Returns false if there is none.
  [[nodiscard]] bool claim_room() noexcept;
  // Queues r. The goroutine has left its stack. Returns true if the caller has to notify the thread maker.
  [[nodiscard]] bool put(cold_read& r) noexcept;

  // --- the thread maker ---

  // Takes the whole queue and returns its first record.
  [[nodiscard]] cold_read* take_queued() noexcept;
  // Tries to open the uring if that has not been tried. Returns whether it is open.
  [[nodiscard]] bool uring_is_open() noexcept;
  // Asks the kernel for all records from `first` on. If the kernel could not be asked for some, their room is freed and
  // their goroutines are appended to `refused`; the status of these is still waiting.
  void ask(cold_read* first, g_list& refused) noexcept;
  void refuse(cold_read& r, g_list& refused) noexcept;
  // Closes the uring and returns true if no answer is outstanding.
  [[nodiscard]] bool close_if_answered() noexcept;
  void abandon() noexcept;

  // --- any thread ---

  // Appends the goroutines whose reads were answered. Their status is still waiting.
  void take_answered(g_list& answered) noexcept;

  counter waited;      // reads that waited without a thread
  counter handed_off;  // reads that waited with a thread, because they were few, or there was no room or no uring
  // Four: measured (decision 015). Tests set 0.
  atomic<std::uint32_t> few{4};

 private:
  void ask_some(cold_read* const* some, std::uint32_t count, g_list& refused) noexcept;

  os::lock lock_{lock_rank::leaf};
  // under lock_
  cold_read* first_queued_ = nullptr;
  cold_read* last_queued_ = nullptr;
  cold_read* under_way_ = nullptr;
  std::uint32_t unanswered_ = 0;  // reads that the kernel has not answered

  atomic<std::uint32_t> claimed_{0};                       // how much room is claimed
  atomic<std::uint32_t> are_queued_{0};                    // a hint whether the queue is worth a look
  atomic<std::uint32_t> begun_{0};                         // how many reads are under way
  atomic<uring_state> uring_state_{uring_state::untried};  // written by the thread maker
  os::uring uring_;                                        // opened by the thread maker; closed under lock_
};

}  // namespace thrum::rt
