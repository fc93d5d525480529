// The request `profile` of the debug socket: docs/debug-socket.md.
//
// The block and the mutex profile belong to the process. A request sets the client's rate for its time, which is in
// force while the program's own rate is 0. The answer has what was noted meanwhile. Runs on the server's thread.
#pragma once

#include "boot/run_gate.h"
#include "core/sched.h"
#include "core/wait_profile.h"
#include "debug/request_server.h"

#include <cstdint>
#include <memory>
#include <string_view>

namespace thrum::rt {

class profile_requests {
 public:
  profile_requests(Sched& s, std::shared_ptr<run_gate> gate) noexcept;

  // `words` is what follows "profile".
  [[nodiscard]] debug::answer handle(std::string_view words) const;

 private:
  class cpu_job;
  class waits_job;

  [[nodiscard]] debug::answer goroutines() const;
  [[nodiscard]] debug::answer cpu(std::int64_t ns) const;
  [[nodiscard]] debug::answer waits(wait_kind which, std::int64_t ns) const;

  Sched& sched_;
  std::shared_ptr<run_gate> const gate_;
};

}  // namespace thrum::rt
