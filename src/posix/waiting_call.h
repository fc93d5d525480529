// A call that waits for descriptors, as the buckets know it: the descriptors that it waits for, the run that it belongs
// to, and the word on which it parks. posix/watch.h has the protocol.
#pragma once

#include "base/atomic.h"
#include "core/entry.h"

#include <cstdint>

namespace thrum::rt {
struct Sched;
}

namespace thrum::posix {

// The order in which calls came to a bucket.
using ticket = std::uint64_t;

class waiting_call;

// One descriptor that a call waits for. Lives as long as the call.
struct watch {
  int fd = -1;               // negative: none
  std::uint32_t events = 0;  // as poll(2) names them

  // The number was closed while the call stood in the bucket. It is never cleared. Written under the bucket's lock.
  // relaxed is enough, because the flag publishes no other data; it only says that the number stands for something
  // else.
  rt::atomic<bool> was_closed{false};

  // under the lock of its bucket
  waiting_call* owner = nullptr;  // set when it enters the bucket
  watch* before = nullptr;
  watch* next = nullptr;
  ticket its_ticket = 0;
  bool is_in_bucket = false;
  bool is_armed = false;        // the kernel was asked for an event and none has come since
  bool is_known = false;        // the kernel knows the number as the file that this call waits for
  bool is_to_be_woken = false;  // the thread that polls next is to wake this call, because of close
  std::uint32_t asked = 0;  // in the first watch of a number: the events that the kernel was asked for, or a superset
};

// Calls that stand together are woken together. Calls that stand in turn are served in order.
enum class turn_order : bool { together, in_turn };

// Lives as long as the call. `run`, `epoch` and `how` are fixed. The word is changed under the lock of its bucket in
// the wait table (core/wait_table.h), inside the runtime.
class waiting_call {
 public:
  waiting_call(rt::Sched& its_run, turn_order its_way) noexcept;

  rt::Sched& run;
  std::uint32_t const epoch;  // the run's
  turn_order const how;

  void clear_word() noexcept;
  // Sets the word. If the goroutine has parked on it, appends the goroutine to `runnable`. Called under the lock of a
  // bucket in which a watch of this call stands.
  void set_word(rt::g_list& runnable) noexcept;

  // Parks until the word is set or the monotonic clock shows deadline_ns. The caller has set the mark, and it is clear
  // on return. Returns true if the word was set in time. Throws as wait_if does.
  [[nodiscard]] bool park_until_set(std::int64_t deadline_ns);

 private:
  // It is aligned like a word, because other addresses are those of locks (sync/lock_holders.h).
  alignas(8) bool is_set_ = false;
};

}  // namespace thrum::posix
