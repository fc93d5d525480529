// What sysmon gives back when it has not been needed for long: threads (S31) and the memory of stacks (S32). And once a second,
// while it is awake, it has the thread maker look whether the CPUs that may be used have changed (S23).
//
// Free stacks keep the pages that their last goroutine touched only for a tenth of a second or two: then they are trimmed. Idle Ps pass what
// is in their caches to the pool for that at once, the others at one of their next 61 switches.
//
// Every ten seconds it notes which goroutines wait, for the dump: one that still waits where it was seen has waited at least since then.
//
// All only cost a look now and then. In an idle program sysmon wakes for them as long as there is something left to give
// back, and then no more.
#pragma once

#include "core/sched.h"
#include "sys/parked_stacks.h"

#include <cstdint>

namespace thrum::rt {

class housekeeping {
 public:
  housekeeping(Sched& s, std::int64_t now_ns) noexcept;

  // Does what is due.
  void look(std::int64_t now_ns) noexcept;

  // When something will be due, as far as one can see now; never_ns: nothing is left to give back.
  [[nodiscard]] std::int64_t next_ns() noexcept;

 private:
  // Ends threads that have been idle for long, down to what the Ps need. When the next could be due.
  [[nodiscard]] std::int64_t let_surplus_go(std::int64_t now_ns) noexcept;
  void scavenge(std::int64_t now_ns) noexcept;
  void trim(std::int64_t now_ns) noexcept;
  void note_ages(std::int64_t now_ns) noexcept;

  Sched& sched_;
  std::int64_t threads_due_ns_;
  std::int64_t stacks_due_ns_;
  std::int64_t cpus_due_ns_;
  std::int64_t trim_due_ns_;
  bool is_trimming_ = false;           // stacks that were not used for a while, a few at a time
  bool is_giving_back_ = false;        // stacks that were found idle, a few at a time
  bool is_looking_at_parked_ = false;  // likewise
  parked_stacks parked_;
  std::uint64_t switches_ = 0;  // of all Ps, when the parked ones were looked at
  std::int64_t ages_due_ns_;
  bool is_noting_ages_ = false;  // a few at a time
  parked_stacks ages_;
  std::uint64_t switches_at_ages_ = 0;
  int quiet_looks_ = 0;  // at which nothing had run since the one before: the second finds all where they were
};

}  // namespace thrum::rt
