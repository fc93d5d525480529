// Functions that read the inner state of channels, for tests.
#pragma once

#include "base/atomic.h"
#include "chan/channel.h"
#include "core/current.h"
#include "support/wait_until.h"
#include <thrum/chan.h>
#include <thrum/go.h>

#include <cstddef>
#include <memory>
#include <utility>

namespace thrum::test {

struct waiters {
  std::size_t receivers = 0;
  std::size_t senders = 0;
  bool operator==(waiters const&) const = default;
};

// Counts the goroutines that wait on a channel. All of them have left their stacks, because a goroutine enters the
// queue under the channel's lock, and the lock is released only after it has left its stack. A select counts once for
// each of its cases.
inline waiters waiting_on(detail::channel_handle const& c) {
  rt::M& m = *rt::current_m();
  rt::enter_runtime(m);
  detail::channel& core = *c.core();
  core.lock.acquire();
  auto const length = [](detail::waiter_queue const& queue) {
    std::size_t count = 0;
    for (auto const* each = queue.first(); each != nullptr; each = each->next) ++count;
    return count;
  };
  waiters const result{length(core.receivers), length(core.senders)};
  core.lock.release();
  rt::leave_runtime(m);
  return result;
}

[[nodiscard]] inline bool wait_until_receivers(detail::channel_handle const& c, std::size_t count) {
  return wait_until([&] { return waiting_on(c).receivers == count; });
}
[[nodiscard]] inline bool wait_until_senders(detail::channel_handle const& c, std::size_t count) {
  return wait_until([&] { return waiting_on(c).senders == count; });
}

// A goroutine that is expected to park, for any reason. is_parked() says that it is about to leave its stack or has
// left it. The goroutine may outlive this object.
class suspect {
 public:
  template <class F>
  explicit suspect(F f) {
    thrum::go([record = record_, call = std::move(f)]() mutable {
      record->store(rt::current_m()->current, rt::release);
      call();
      record->store(nullptr, rt::release);
    });
  }
  suspect(suspect const&) = delete;
  suspect& operator=(suspect const&) = delete;
  ~suspect() = default;

  [[nodiscard]] bool is_parked() const {
    rt::G const* const g = record_->load(rt::acquire);
    return g != nullptr && g->status.load(rt::relaxed) == rt::g_status::waiting;  // relaxed: a snapshot
  }
  // True if the goroutine parks, and is parked after other goroutines have had 100 turns.
  [[nodiscard]] bool stays_parked() const {
    if (!wait_until([&] { return is_parked(); })) return false;
    for (int i = 0; i < 100; ++i) thrum::yield();
    return is_parked();
  }

 private:
  std::shared_ptr<rt::atomic<rt::G*>> record_ = std::make_shared<rt::atomic<rt::G*>>(nullptr);
};

}  // namespace thrum::test
