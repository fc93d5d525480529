// What each path of the live view answers: docs/live_view.md.
//
// Requests run on the server's thread. They use the memory of the run only inside the gate, so the end of the run waits
// for that part of a request. The reports are those of the debug socket (boot/debug_requests.h).
#pragma once

#include "boot/debug_requests.h"
#include "boot/run_gate.h"
#include "core/sched.h"
#include "debug/symbols.h"
#include "live/goroutine_table.h"
#include "live/http_answer.h"
#include "live/http_request.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace thrum::live {

class api {
 public:
  api(rt::Sched& s, std::shared_ptr<rt::run_gate> gate);

  // May throw std::bad_alloc.
  [[nodiscard]] http_answer answer(http_request const& asked);

 private:
  class reported;

  [[nodiscard]] http_answer metrics() const;
  [[nodiscard]] http_answer stats();
  [[nodiscard]] http_answer about();
  [[nodiscard]] http_answer goroutine(std::string_view id);
  [[nodiscard]] http_answer dump(std::string_view query);
  [[nodiscard]] http_answer profile(std::string_view query);
  [[nodiscard]] http_answer trace(std::string_view query);

  rt::Sched& sched_;
  std::shared_ptr<rt::run_gate> const gate_;
  rt::debug_requests reports_;
  goroutine_table goroutines_;
  std::optional<rt::symbols> names_of_frames_;  // made for the first request that needs it
  // Read when the server starts, because the program may change its environment while the server's thread reads it.
  std::string const folder_for_traces_;
};

}  // namespace thrum::live
