// What sysmon gives back when it has not been needed for long: threads (S31) and the memory of stacks (S32). Once a
// second, while it is awake, sysmon also has the thread maker check whether the CPUs that the program may use have
// changed (S23).
//
// Free stacks keep the pages that their last goroutine touched for 0.1 to 0.2 s only; then they are trimmed. For that,
// idle Ps pass the stacks in their caches to the pool at once, and busy Ps do so at one of their next 61 switches.
//
// Every ten seconds sysmon notes which goroutines wait, for the dump. A goroutine that waits where it was seen has
// waited at least since then.
//
// All of this costs only a look now and then. In an idle program sysmon wakes up for it as long as there is something
// to give back, and then stops waking up.
#pragma once

#include "core/sched.h"
#include "sys/parked_stacks.h"

#include <cstdint>

namespace thrum::rt {

class housekeeping {
 public:
  housekeeping(Sched& s, std::int64_t now_ns) noexcept;

  // Does the work that is due.
  void look(std::int64_t now_ns) noexcept;

  // When work will be due, as far as can be seen at the time of the call. never_ns: nothing is left to give back.
  [[nodiscard]] std::int64_t next_ns() noexcept;

 private:
  // Ends threads that have been idle for long, down to the number that the Ps need. Returns when the next thread could
  // be due.
  [[nodiscard]] std::int64_t let_surplus_go(std::int64_t now_ns) noexcept;
  void scavenge(std::int64_t now_ns) noexcept;
  void trim(std::int64_t now_ns) noexcept;
  void note_ages(std::int64_t now_ns) noexcept;

  Sched& sched_;
  std::int64_t threads_due_ns_;
  std::int64_t stacks_due_ns_;
  std::int64_t cpus_due_ns_;
  std::int64_t trim_due_ns_;
  bool is_trimming_ = false;           // a round of trimming unused stacks is under way, a few stacks per look
  bool is_giving_back_ = false;        // stacks that were found idle lose their memory, a few per look
  bool is_looking_at_parked_ = false;  // a walk over the parked goroutines is under way, a few per look
  parked_stacks parked_;
  std::uint64_t switches_ = 0;  // of all Ps, when the last walk over the parked goroutines began
  std::int64_t ages_due_ns_;
  bool is_noting_ages_ = false;  // a walk that notes ages is under way, a few goroutines per look
  parked_stacks ages_;
  std::uint64_t switches_at_ages_ = 0;
  // how many walks in a row began without a switch since the one before. The second such walk finds all goroutines
  // where they were.
  int quiet_looks_ = 0;
};

}  // namespace thrum::rt
