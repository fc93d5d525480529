// SIGQUIT: the goroutine dump, and exit code 2. In force while a run is alive, unless the program has an action of its
// own.
#pragma once

#include "core/sched.h"

namespace thrum::rt {

class quit_signal {
 public:
  explicit quit_signal(Sched& s) noexcept;
  ~quit_signal();
  quit_signal(quit_signal const&) = delete;
  quit_signal& operator=(quit_signal const&) = delete;

 private:
  bool const is_ours_;
};

}  // namespace thrum::rt
