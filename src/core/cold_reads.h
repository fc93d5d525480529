// The reads of files that wait for the disk without a thread (decision 015). Passive: it returns who is to be readied.
//
// A goroutine whose bytes are not in memory parks, and stands in the queue of those to be asked for. The thread maker takes them
// out and asks the kernel; whoever finds the ring's event in the poll takes the answers, and readies them. So a record, on the
// goroutine's stack, is in the queue, or the thread maker's, or the kernel's, which names it in its answer; and then the goroutine's again.
//
// As long as they are few, they keep their threads: one that sleeps in the read costs less than the ring does for few.
//
// There is room for ring_questions_max at a time, which is claimed before a goroutine parks: no queue of the kernel's can be full.
#pragma once

#include "base/atomic.h"
#include "core/counters.h"
#include "core/entry.h"
#include "core/g.h"
#include "os/lock.h"
#include "os/ring.h"

#include <cstdint>

namespace thrum::rt {

struct cold_read {
  int fd;
  std::uint64_t offset = 0;
  G* g = nullptr;
  int answer = 0;               // as in os::ring_answer
  cold_read* queued = nullptr;  // the next in the queue
  // among all that are under way, until their goroutine has its bytes
  cold_read* next = nullptr;
  cold_read* previous = nullptr;
};

class cold_reads {
 public:
  // The ring, once it was tried.
  enum class way : std::uint8_t { untried, open, refused };
  [[nodiscard]] bool may_be_asked() const noexcept { return way_.load(relaxed) != way::refused; }

  // --- the goroutine that reads ---

  void begin(cold_read& r) noexcept;
  void end(cold_read& r) noexcept;
  // Whether somebody has begun to read from it and not ended.
  [[nodiscard]] bool are_of(int fd) noexcept;

  // Whether they are so few that one of those who have begun keeps its thread.
  [[nodiscard]] bool are_few() const noexcept;

  // False: there is none.
  [[nodiscard]] bool claim_room() noexcept;
  // Its goroutine has left its stack. True: the thread maker is to be rung.
  [[nodiscard]] bool put(cold_read& r) noexcept;

  // --- the thread maker ---

  // The first of all that are queued.
  [[nodiscard]] cold_read* take_queued() noexcept;
  // Opens it if that was not tried.
  [[nodiscard]] bool ring_is_open() noexcept;
  // Those for whom the kernel could not be asked: their room is free again, and they are appended to `refused`, still waiting.
  void ask(cold_read* first, g_list& refused) noexcept;
  void refuse(cold_read& r, g_list& refused) noexcept;
  // No answer is missing, and the ring is closed.
  [[nodiscard]] bool close_if_answered() noexcept;
  void abandon() noexcept;

  // --- anybody ---

  // Appends those who were answered, still waiting.
  void take_answered(g_list& answered) noexcept;

  counter waited;      // reads that had to wait, without a thread
  counter handed_off;  // and with one: they were few, or there was no room or no ring
  // Four: measured (decision 015); tests say 0.
  atomic<std::uint32_t> few{4};

 private:
  void ask_some(cold_read* const* some, std::uint32_t count, g_list& refused) noexcept;

  os::lock lock_{lock_rank::leaf};
  // under lock_
  cold_read* first_queued_ = nullptr;
  cold_read* last_queued_ = nullptr;
  cold_read* under_way_ = nullptr;
  std::uint32_t unanswered_ = 0;  // by the kernel

  atomic<std::uint32_t> claimed_{0};     // room
  atomic<std::uint32_t> are_queued_{0};  // a hint: whether a look is worth it
  atomic<std::uint32_t> begun_{0};       // how many are under way
  atomic<way> way_{way::untried};        // written by the thread maker
  os::ring ring_;                        // opened by the thread maker; closed under lock_
};

}  // namespace thrum::rt
