#include "sync/stamp.h"
#include "sync/wait.h"
#include <thrum/wait_group.h>

#include <stdexcept>
#include <string>

namespace thrum {
namespace {

using namespace rt;

constexpr word waited_for = 1;  // of the run whose number stands above (sync/stamp.h); changed under the bucket's lock
constexpr word one = 2;
constexpr word count_max = (word{1} << (stamp_shift - 1)) - 1;

constexpr std::int64_t count_of(word state) { return static_cast<std::int64_t>((state & ~stamp_mask) / one); }

[[noreturn, gnu::noinline]] void throw_out_of_range(std::int64_t delta) {
  if (delta < 0) throw std::logic_error("thrum: negative wait_group counter");
  throw std::logic_error("thrum: wait_group::add(" + std::to_string(delta) + "): the count would be too large");
}

// The count falls to zero while goroutines wait. So the state changes and the waiters leave under the bucket's lock.
// Returns false if the count has changed meanwhile, or if the run of the waiters is over.
[[nodiscard]] bool release_waiters(atomic<word>& state, word seen, std::uint32_t epoch, std::uintptr_t site) {
  M* const found = enter_to_wake(epoch);
  if (found == nullptr) return false;
  M& m = *found;
  wait_bucket& bucket = m.sched.waiters.bucket_of(&state);
  bucket.acquire();
  // acq_rel: this done() is ordered after all others, and all of them before the waiters.
  bool const last = state.compare_exchange(seen, 0, acq_rel, relaxed);
  if (last) {
    release_all(m, bucket, &state, site);  // the wait_group may be gone from here on
  } else {
    bucket.release();
  }
  leave_runtime(m);
  return last;
}

// One attempt to add.
struct addition {
  [[gnu::always_inline]] addition(atomic<word>& state, std::int64_t delta) noexcept
      : seen(state, waited_for), count(seen.now() / one + static_cast<word>(delta)) {}

  // A sum that is negative or overflows is also greater than count_max.
  [[nodiscard]] bool is_in_range() const noexcept { return count <= count_max; }
  [[nodiscard]] bool releases_waiters() const noexcept { return count == 0 && seen.has(waited_for); }
  // The last done() sees what all others did before theirs.
  [[nodiscard, gnu::always_inline]] bool is_made() noexcept {
    return seen.change_to(one * count | (seen.now() & waited_for));
  }

  run_stamp<word> seen;
  word const count;
};

[[gnu::noinline]] void add_slow(atomic<word>& state, std::int64_t delta, std::uintptr_t site) {
  for (;;) {
    addition next(state, delta);
    if (!next.is_in_range()) throw_out_of_range(delta);
    bool const is_done =
        next.releases_waiters() ? release_waiters(state, next.seen.raw(), next.seen.epoch(), site) : next.is_made();
    if (is_done) return;
  }
}

[[gnu::noinline]] void release_or_add(atomic<word>& state, word seen, std::uint32_t epoch, std::int64_t delta,
                                      std::uintptr_t site) {
  if (!release_waiters(state, seen, epoch, site)) add_slow(state, delta, site);
}

}  // namespace

// Every goroutine of a group comes here. So what is not the usual case is left to functions that are called last, for
// which this one need not save registers.
[[gnu::noinline]] void wait_group::add(std::int64_t delta) {
  addition next(state_, delta);
  if (next.releases_waiters())
    return release_or_add(state_, next.seen.raw(), next.seen.epoch(), delta, site_of_caller());
  if (!next.is_in_range() || !next.is_made()) [[unlikely]]
    add_slow(state_, delta, site_of_caller());
}

void wait_group::wait() {
  if (count_of(state_.load(acquire)) == 0) return;  // pairs with the last done()
  static_cast<void>(park_until_zero("wait_group::wait", no_deadline));
}

bool wait_group::wait_until_ns(std::int64_t deadline_ns) {
  if (count_of(state_.load(acquire)) == 0) return true;  // as above
  return detail::clock_ns() < deadline_ns && park_until_zero("wait_group::wait_for", deadline_ns);
}

bool wait_group::park_until_zero(char const* what, std::int64_t deadline_ns) {
  M& m = enter_to_wait(what);
  std::uint32_t const epoch = m.sched.epoch;
  auto const say_so = [&] {
    run_stamp<word> seen(state_, waited_for, epoch);  // its acquire pairs with the last done()
    while (count_of(seen.now()) != 0) {
      if (seen.change_to(seen.now() | waited_for)) return true;
    }
    return false;
  };
  auto const take_it_back = [&] {
    word seen = state_.load(relaxed);
    while (!state_.compare_exchange_weak(seen, seen & ~(stamp_mask | waited_for), relaxed, relaxed)) {
    }  // relaxed: nothing is handed over
  };
  return wait_if(m, &state_, wait_reason::wait_group, deadline_ns, say_so, take_it_back);
}

}  // namespace thrum
