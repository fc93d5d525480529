// Blocks all signals of this thread for the length of a scope, so that no handler runs on it and the thread is not
// paused. It is used by threads that hold a bucket's lock outside the runtime.
#pragma once

#include <signal.h>

namespace thrum::posix {

class signals_blocked {
 public:
  signals_blocked() noexcept {
    sigset_t all;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~signals_blocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  signals_blocked(signals_blocked const&) = delete;
  signals_blocked& operator=(signals_blocked const&) = delete;

 private:
  sigset_t before_;
};

}  // namespace thrum::posix
