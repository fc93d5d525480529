// Threads that run user code without a P, as sysmon sees them from outside (S40, T04).
//
// A thread whose P was taken while it slept in the kernel (sys/unannounced.h) comes back to user code without a P.
// Until it enters the runtime, it runs in addition to the threads that hold the Ps. If it computes for longer than
// about a slice, sysmon asks it to queue for a P.
//
// Most of these threads sleep, and there may be thousands of them. So sysmon first reads the CPU clock of each thread,
// which is the cheapest question, and asks for more only about a thread whose clock has moved. It looks at some 32
// threads per millisecond at most, however many there are, and the next look continues where the last one stopped. A
// round over all threads begins once per slice at most.
//
// sysmon also reports a thread that waits for a lock while goroutines that can go on only on that thread are runnable
// (sched/home.h). As a rule one of these goroutines holds the lock, so none of them would ever go on. The same holds
// for a thread in an announced call, whatever it waits for there: as a rule a goroutine that announces a call leaves
// such a thread (make_way), but it stays if it can itself go on only there.
//
// The request to queue comes from a timer on the thread's CPU clock, which does not disturb a system call
// (sys/slices.h). Where the kernel has no such timer, sysmon sends a signal, and only to a thread that runs at two
// looks, because any other thread might be on its way out of a call.
#pragma once

#include "core/sched.h"
#include "os/pause_signal.h"
#include "sys/report_text.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace thrum::rt {

class without_p_watch {
 public:
  without_p_watch(Sched& s, report_text& reports) noexcept : sched_(s), reports_(reports) {}

  void look(std::int64_t now_ns) noexcept;
  void close() noexcept;

  // Whether a thread may have to be reported, so that sysmon must not sleep deeply.
  [[nodiscard]] bool suspects_deadlock() const noexcept { return next_ != all_ms::end() || rounds_to_go_ != 0; }

 private:
  [[nodiscard]] bool begin_round(std::int64_t now_ns) noexcept;
  void look_at(M& m, std::int64_t now_ns) noexcept;
  void end_round() noexcept;
  void ask(M& m, int tid, std::int64_t since_ns, std::int64_t used_ns, std::int64_t now_ns) noexcept;
  [[nodiscard]] bool ask_by_timer(M& m, int tid, std::int64_t now_ns) noexcept;
  void look_at_residents(M& m, int tid, bool sleeps, std::int64_t now_ns) noexcept;
  void report_stuck(M& m, int tid) noexcept;
  [[nodiscard]] bool has_nothing_to_do() const noexcept;

  Sched& sched_;
  report_text& reports_;
  all_ms::iterator next_;  // where the round continues. Records of Ms last as long as the run.
  std::int64_t round_began_ns_ = 0;
  std::int64_t looked_at_ns_ = 0;
  // If a timer is needed for another thread before it has fired, its own thread is asked in the next round.
  struct request {
    os::pause_timer timer;
    M* of = nullptr;
    std::uint32_t answers = 0;  // pause_request::answers before the timer was set
  };
  std::array<request, 8> requests_;
  std::size_t next_request_ = 0;
  std::int64_t timers_again_ns_ = 0;  // until then signals are used, because the kernel had no timer
  bool has_suspects_ = false;         // whether this round has found a thread that may have to be reported
  int rounds_to_go_ = 0;              // the number of rounds before it is certain that no thread has to be reported
  // how many reports this run may still have, about calls that were not announced and about those that were
  std::array<int, 2> reports_left_{8, 8};
};

}  // namespace thrum::rt
