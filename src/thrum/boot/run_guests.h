// Guests of a run: what uses the run from a thread of its own, was made while the run was alive, and has to go before
// it ends, such as the server of the live view. The libraries above thrum register them here.
//
// A guest is admitted when it is complete. From then on it may use the run inside its gate, until end() is called. The
// end of the run ends all guests; the program may end one earlier, by its number. Exactly one of the two gets it. The
// program gets it only when the guest does not use the run any more, because the run may end meanwhile.
//
// The list is under a lock, which goroutines take with the mark set, so that none is stopped while it holds it. end()
// is called without the lock.
#pragma once

#include "boot/run_gate.h"
#include "core/sched.h"

#include <cstdint>

namespace thrum::rt {

class run_guest {
 public:
  run_guest(run_guest const&) = delete;
  run_guest& operator=(run_guest const&) = delete;

  // Under the list's lock: it is admitted, and may use the run from here on.
  virtual void has_been_admitted() noexcept = 0;
  // Under the list's lock: it is to end what it does. True: it has, and does not use the run any more. False: not yet.
  [[nodiscard]] virtual bool lets_go() noexcept = 0;
  // Its thread and its descriptors go, and so does the object, or the thread takes that over. Blocks the thread, not
  // for long. It does not use the run afterwards.
  virtual void end() noexcept = 0;
  // In a child of fork, on its only thread.
  virtual void close_descriptors_in_child() const noexcept = 0;

 protected:
  run_guest() = default;
  virtual ~run_guest() = default;

 private:
  friend class guest_list;
  run_guest* next_ = nullptr;
  std::uint64_t number_ = 0;
};

// Any thread, outside the runtime. Returns the guest's number, which no other guest of the process gets. 0: the run is
// ending, or has ended, so the guest stays the caller's.
[[nodiscard]] std::uint64_t admit_guest(Sched const& s, run_guest& guest) noexcept;
// The guest is the caller's again (taken), or is about to end what it does (busy). gone: the run has ended it, or is
// about to, or another caller has taken it.
struct taken_guest {
  enum class outcome : std::uint8_t { taken, busy, gone };
  outcome is = outcome::gone;
  run_guest* guest = nullptr;
};
[[nodiscard]] taken_guest take_guest(std::uint64_t number) noexcept;

// For the run: when goroutines may begin, and before its end makes anything unusable.
void open_to_guests(Sched const& s) noexcept;
void end_guests() noexcept;
// The program ends by exit() in the middle of the run. The guests' threads go on meanwhile, as all others do.
void abandon_guests() noexcept;
// In a child of fork, on its only thread.
void close_descriptors_of_guests_in_child() noexcept;

}  // namespace thrum::rt
