// Threads that run user code without a P, as sysmon sees them from outside (S40, T04).
//
// A thread whose P was taken while it slept in the kernel (sys/unannounced.h) comes back to user code without one. It runs there beside
// as many others as there are Ps until it enters the runtime. If it computes for longer than about a slice, sysmon asks it to queue for a P.
//
// Most of these threads sleep, and there may be thousands of them. So sysmon reads the CPU clock of each thread first, which is the
// cheapest question, and asks for more only about a thread whose clock has moved. It looks at some 32 threads per millisecond at
// most, however many there are, and resumes at the next look where it stopped. A round over all threads begins once per slice at most.
#pragma once

#include "core/sched.h"

#include <cstdint>

namespace thrum::rt {

class without_p_watch {
 public:
  explicit without_p_watch(Sched& s) noexcept : sched_(s) {}

  void look(std::int64_t now_ns) noexcept;

 private:
  [[nodiscard]] bool begin_round(std::int64_t now_ns) noexcept;
  void look_at(M& m, std::int64_t now_ns) noexcept;
  void ask(M& m, int tid, std::int64_t since_ns, std::int64_t used_ns) noexcept;

  Sched& sched_;
  M* next_ = nullptr;  // where the round goes on; records of Ms last as long as the run
  std::int64_t round_began_ns_ = 0;
  std::int64_t looked_at_ns_ = 0;
};

}  // namespace thrum::rt
