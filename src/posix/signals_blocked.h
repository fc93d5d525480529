// No handler runs on this thread, and nobody pauses it: for those who hold a bucket's lock outside of the runtime.
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
