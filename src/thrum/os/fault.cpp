#include "os/fault.h"

#include "base/check.h"

#include <cstddef>

namespace thrum::rt::os {
namespace {

// A plan is one word: | error: 12 bits | skip: 26 bits | times: 26 bits |. Zero means that there is no plan.
constexpr unsigned times_bits = 26;
constexpr unsigned skip_shift = times_bits;
constexpr unsigned error_shift = 2 * times_bits;
constexpr std::uint64_t field_mask = (std::uint64_t{1} << times_bits) - 1;
constexpr std::uint64_t times_for_good = field_mask;
static_assert(fault_skip_max == field_mask);

struct call_state {
  atomic<std::uint64_t> plan{0};
  atomic<std::uint64_t> made{0};
};
constinit call_state states[static_cast<std::size_t>(call::count_)];

call_state& state_of(call c) noexcept {
  THRUM_CHECK(c < call::count_);
  return states[static_cast<std::size_t>(c)];
}

std::uint64_t after_one_call(std::uint64_t plan, bool& fails) noexcept {
  std::uint64_t const skip = (plan >> skip_shift) & field_mask;
  std::uint64_t const times = plan & field_mask;
  fails = skip == 0 && times != 0;
  if (skip > 0) return plan - (std::uint64_t{1} << skip_shift);
  if (times == times_for_good) return plan;
  return times > 1 ? plan - 1 : 0;
}

}  // namespace

namespace faults {

constinit atomic<bool> watching{false};

// All accesses are relaxed, because each word is consistent in itself and nothing else is published through it.
bool next_call_fails(call c, int& error) noexcept {
  call_state& state = state_of(c);
  state.made.fetch_add(1U, relaxed);
  std::uint64_t plan = state.plan.load(relaxed);
  while (plan != 0) {
    bool fails = false;
    std::uint64_t const next = after_one_call(plan, fails);
    if (next == plan || state.plan.compare_exchange_weak(plan, next, relaxed, relaxed)) {
      if (fails) error = static_cast<int>(plan >> error_shift);
      return fails;
    }
  }
  return false;
}

}  // namespace faults

void inject_fault(call c, int error, std::uint64_t skip, std::uint64_t times) noexcept {
  THRUM_CHECK(error > 0 && error < 4096);
  THRUM_CHECK(skip <= fault_skip_max);
  THRUM_CHECK(times > 0);
  std::uint64_t const bounded_times = times < times_for_good ? times : times_for_good;
  state_of(c).plan.store((static_cast<std::uint64_t>(error) << error_shift) | (skip << skip_shift) | bounded_times,
                         relaxed);
  faults::watching.store(true, relaxed);
}

void count_calls() noexcept { faults::watching.store(true, relaxed); }

void clear_faults() noexcept {
  faults::watching.store(false, relaxed);
  for (call_state& state : states) {
    state.plan.store(0, relaxed);
    state.made.store(0, relaxed);
  }
}

std::uint64_t calls_made(call c) noexcept { return state_of(c).made.load(relaxed); }

}  // namespace thrum::rt::os
