#include "sync/wait.h"
#include <thrum/wait_group.h>

#include <stdexcept>
#include <string>

namespace thrum {
namespace {

using namespace rt;

constexpr std::int64_t waited_for = 1;
constexpr std::int64_t one = 2;

constexpr std::int64_t count_of(std::int64_t state) { return state >> 1; }

[[noreturn, gnu::noinline]] void throw_negative() { throw std::logic_error("thrum: negative wait_group counter"); }

[[noreturn, gnu::noinline]] void throw_out_of_range(std::int64_t delta) {
  throw std::logic_error("thrum: wait_group::add(" + std::to_string(delta) + ") takes the count out of its range");
}

// The count falls to zero while somebody waits: the state changes and the waiters leave under the bucket's lock. False if
// the count has changed meanwhile.
bool release_waiters(atomic<std::int64_t>& state, std::int64_t seen) {
  M& m = enter_to_wait("wait_group::done");
  wait_bucket& bucket = m.sched.waiters.bucket_of(&state);
  bucket.acquire();
  // acq_rel: this done() is ordered after all others, and all of them before the waiters.
  bool const last = state.compare_exchange(seen, 0, acq_rel, relaxed);
  if (last) {
    release_all(m, bucket, &state);  // the wait_group may be gone from here on
  } else {
    bucket.release();
  }
  leave(m);
  return last;
}

}  // namespace

void wait_group::add(std::int64_t delta) {
  std::int64_t seen = state_.load(detail::relaxed);
  for (;;) {
    std::int64_t next = 0;
    if (__builtin_mul_overflow(delta, one, &next) || __builtin_add_overflow(seen, next, &next))
      throw_out_of_range(delta);
    if (next < 0) throw_negative();
    if (next == waited_for) {
      if (release_waiters(state_, seen)) return;
      seen = state_.load(detail::relaxed);
    } else if (state_.compare_exchange_weak(seen, next, detail::acq_rel, detail::relaxed)) {
      return;  // acq_rel: the done() that comes last sees what all others did before theirs
    }
  }
}

void wait_group::wait() {
  if (count_of(state_.load(detail::acquire)) == 0) return;  // pairs with the last done()
  static_cast<void>(park_until_zero("wait_group::wait", no_deadline));
}

bool wait_group::wait_until_ns(std::int64_t deadline_ns) {
  if (count_of(state_.load(detail::acquire)) == 0) return true;  // as above
  return detail::clock_ns() < deadline_ns && park_until_zero("wait_group::wait_for", deadline_ns);
}

bool wait_group::park_until_zero(char const* what, std::int64_t deadline_ns) {
  M& m = enter_to_wait(what);
  auto const say_so = [this] {
    std::int64_t seen = state_.load(acquire);
    while (count_of(seen) != 0) {
      if (state_.compare_exchange_weak(seen, seen | waited_for, acquire, acquire)) return true;
    }
    return false;
  };
  auto const take_it_back = [this] {
    std::int64_t seen = state_.load(relaxed);
    while (!state_.compare_exchange_weak(seen, seen & ~waited_for, relaxed, relaxed)) {
    }  // relaxed: nothing is handed over
  };
  return wait_if(m, &state_, wait_reason::wait_group, deadline_ns, say_so, take_it_back);
}

}  // namespace thrum
