// What the other threads of a run tell the thread maker (sched/thread_maker.h), beside the Ms whose threads it makes
// and joins (core/m_pool.h). No operation takes a lock.
#pragma once

#include "base/atomic.h"
#include "os/futex.h"

#include <cstdint>

namespace thrum::rt {

struct Sched;

class thread_maker_link {
 public:
  using function = void (*)(Sched& s) noexcept;

  // --- any thread ---

  // Wakes the thread maker, because a thread is ordered or has ended, a spare thread is wanted, or a cold read is
  // queued.
  void notify() noexcept {
    notify_word_.fetch_add(1U, release);  // pairs with notify_word()
    os::futex_wake(notify_word_, 1);
  }
  // The thread maker runs f once, because f needs a thread without a P. A function that it has not begun is forgotten.
  void run_once(function f) noexcept {
    errand_.store(f, release);  // pairs with take_errand
    notify();
  }
  [[nodiscard]] bool has_errand() const noexcept { return errand_.load(acquire) != nullptr; }
  // The number of CPUs may have changed, so the thread maker runs the function of follow_cpus_by.
  void ask_to_follow_cpus() noexcept {
    cpus_may_have_changed_.store(true, relaxed);  // ordered by the notification
    notify();
  }

  // --- before the run starts ---

  // A function of a higher layer (boot/quota.h).
  void follow_cpus_by(function f) noexcept { follow_cpus_ = f; }

  // --- on the thread maker's thread ---

  [[nodiscard]] std::uint32_t notify_word() const noexcept { return notify_word_.load(acquire); }  // pairs with notify
  // Sleeps until the word is not `seen` any more, for at most `limit_ns`; negative: without a limit.
  void sleep(std::uint32_t seen, std::int64_t limit_ns) noexcept {
    static_cast<void>(os::futex_wait(notify_word_, seen, limit_ns));
  }
  // nullptr: there is nothing to run.
  [[nodiscard]] function take_errand() noexcept { return errand_.exchange(nullptr, acquire); }  // pairs with run_once
  [[nodiscard]] function take_follow_cpus() noexcept {
    return cpus_may_have_changed_.exchange(false, relaxed) ? follow_cpus_ : nullptr;
  }

 private:
  atomic<std::uint32_t> notify_word_{0};
  atomic<bool> cpus_may_have_changed_{false};
  function follow_cpus_ = nullptr;
  atomic<function> errand_{nullptr};
};

}  // namespace thrum::rt
