// The table of goroutines, with search and grouping, as JSON: docs/live_view.md.
//
// No goroutine is stopped for it, so the names that goroutines have given themselves are not in it. A hundred thousand
// goroutines take some milliseconds. What a request keeps has a bound, whatever their number is.
#pragma once

#include "boot/origin_groups.h"
#include "boot/run_gate.h"
#include "core/sched.h"
#include "live/http_answer.h"

#include <string_view>

namespace thrum::live {

class goroutine_table {
 public:
  goroutine_table(rt::Sched& s, rt::run_gate& gate) noexcept : sched_(s), gate_(gate) {}

  [[nodiscard]] http_answer answer(std::string_view query);

 private:
  struct request;
  [[nodiscard]] http_answer groups(request const& asked);
  [[nodiscard]] http_answer rows(request const& asked);

  rt::Sched& sched_;
  rt::run_gate& gate_;
  rt::place_names names_;  // of places that were asked for once
};

}  // namespace thrum::live
