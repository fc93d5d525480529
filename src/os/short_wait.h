// Waiting for another thread that is about to be done, where there is nothing to sleep on.
//
//   short_wait wait;
//   while (is_not_done()) wait.pause();
//
// The first pauses let other threads run (sched_yield), which is the quickest way if the other thread needs this CPU. Later ones sleep
// for 50 us each. A loop of yields alone may never end: a thread with a real-time priority (SCHED_FIFO) that yields only makes way
// for its equals, so an ordinary thread that it waits for gets no CPU until the kernel throttles the first one, a second later.
//
// pause() allocates nothing, takes no lock and keeps errno: it may be called anywhere, in a signal handler too.
#pragma once

namespace thrum::rt::os {

class short_wait {
 public:
  explicit constexpr short_wait(int yields = 200) noexcept : yields_left_(yields) {}

  void pause() noexcept;

  // It takes longer than such a wait should.
  [[nodiscard]] bool is_long() const noexcept { return yields_left_ == 0; }

 private:
  int yields_left_;
};

}  // namespace thrum::rt::os
