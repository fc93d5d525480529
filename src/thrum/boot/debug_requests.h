// What the debug socket answers: docs/debug-socket.md.
//
// Requests run on the server's thread. They use the memory of the run only inside the gate, so the end of the run waits
// for that part of a request. What takes long, such as the names of functions, is done outside of it.
#pragma once

#include "boot/origin_groups.h"
#include "boot/profile_requests.h"
#include "boot/run_gate.h"
#include "core/sched.h"
#include "debug/request_server.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace thrum::rt {

class debug_requests : public debug::request_handler {
 public:
  debug_requests(Sched& s, std::shared_ptr<run_gate> gate) noexcept;

  [[nodiscard]] debug::answer handle(debug::request const& asked) override;

 private:
  [[nodiscard]] debug::answer about() const;
  [[nodiscard]] debug::answer stats() const;
  [[nodiscard]] debug::answer dump(std::string_view form_words) const;
  [[nodiscard]] debug::answer goroutines(std::string_view groups_max);
  [[nodiscard]] debug::answer trace(std::string_view seconds, int descriptor) const;

  Sched& sched_;
  std::shared_ptr<run_gate> const gate_;
  std::int64_t const started_ns_;
  profile_requests profiles_;
  place_names names_;
};

}  // namespace thrum::rt
