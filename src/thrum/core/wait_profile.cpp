#include "core/wait_profile.h"

#include "arch/context.h"
#include "arch/stack_walk.h"
#include "base/round_up.h"
#include "core/sched.h"
#include "os/clock.h"
#include "os/guarded_call.h"
#include "os/late_code.h"
#include "os/memory.h"
#include "os/shared_library.h"
#include "stack/stack.h"

#include <algorithm>
#include <cstddef>
#include <limits>

namespace thrum::rt {

constinit wait_profile blocked_waits;
constinit wait_profile contended_waits;

namespace {

wait_profile& profile_of(wait_kind which) noexcept {
  return which == wait_kind::blocked ? blocked_waits : contended_waits;
}

bool is_for_others(wait_reason why) noexcept {
  switch (why) {
    case wait_reason::none:
    case wait_reason::stack_memory:
    case wait_reason::sleep:
    case wait_reason::io: return false;
    default: return true;
  }
}

std::uint64_t hash_of(wait_place const& place) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325ULL + static_cast<std::uint64_t>(place.reason);
  for (std::uint32_t i = 0; i < place.frames; ++i) hash = (hash ^ place.pcs[i]) * 0x9e3779b97f4a7c15ULL;
  hash ^= hash >> 32U;
  return hash != 0 ? hash : 1;
}

bool is_same(wait_place const& a, wait_place const& b) noexcept {
  return a.hash == b.hash && a.reason == b.reason && a.frames == b.frames && std::equal(a.pcs, a.pcs + a.frames, b.pcs);
}

// A walk takes some 5 KiB, and goroutines may have stacks of 16 KiB.
constexpr std::ptrdiff_t stack_for_walk_bytes = 8192;

bool can_walk(G const& g) noexcept {
  bool const has_room = g.on == nullptr || stack_pointer() - g.on->low > stack_for_walk_bytes;
  return has_room && os::loader_can_be_asked && !os::program_is_static();
}

struct own_walk {
  context here;
  char const* end;
  wait_place* to;
};

void walk(void* argument) noexcept {
  auto& its = *static_cast<own_walk*>(argument);
  stack_range const on{static_cast<char const*>(its.here.sp), its.end};
  its.to->frames = static_cast<std::uint32_t>(
      os::walk_stack_guarded(registers_of(its.here), on, its.to->pcs, wait_place::frames_max));
}

// The stack of the calling goroutine, which is g.
void note_stack(G const& g, wait_place& to) noexcept {
  if (!can_walk(g)) {
    to.pcs[0] = reinterpret_cast<std::uintptr_t>(g.task.created_at) - 1;  // it is a return address
    to.frames = g.task.created_at != nullptr ? 1 : 0;
    return;
  }
  auto const* const end_of_memory = reinterpret_cast<char const*>(std::numeric_limits<std::uintptr_t>::max());
  own_walk its{{}, g.on != nullptr ? g.on->top : end_of_memory, &to};
  call_with_context(its.here, walk, &its);
}

}  // namespace

bool wait_profile::make_room() noexcept {
  if (places_.load(relaxed) != nullptr) return true;
  std::size_t const bytes = round_up(places_max * sizeof(wait_place), os::page_size());
  char* const memory = os::map(bytes).address;
  if (memory == nullptr) return false;
  wait_place* expected = nullptr;
  auto* const made = reinterpret_cast<wait_place*>(memory);  // all bytes are 0, which is what a free entry is
  // release pairs with add and read. Another thread may have been first.
  if (!places_.compare_exchange(expected, made, release, relaxed)) {
    os::unmap(memory, bytes);
  }
  return true;
}

void wait_profile::add(wait_place const& found) noexcept {
  constexpr std::size_t tries_max = 64;
  wait_place* const places = places_.load(acquire);  // pairs with make_room
  if (places == nullptr) return;                     // the thread that turns the profile on is not yet seen here
  wait_place wanted = found;
  wanted.hash = hash_of(found);
  os::lock_guard const guard(lock_);
  wait_place* into = &lost_;
  for (std::size_t i = 0; i < tries_max; ++i) {
    wait_place& at = places[(wanted.hash + i) % places_max];
    if (at.hash == 0) {
      at = wanted;
      return;
    }
    if (is_same(at, wanted)) {
      into = &at;
      break;
    }
  }
  into->waits += found.waits;
  into->ns += found.ns;
}

bool wait_profile::read(std::size_t n, wait_place& to) noexcept {
  wait_place const* const places = places_.load(acquire);  // pairs with make_room
  if (places == nullptr) return false;
  os::lock_guard const guard(lock_);
  if (places[n].hash == 0) return false;
  to = places[n];
  return true;
}

wait_place wait_profile::lost() noexcept {
  os::lock_guard const guard(lock_);
  return lost_;
}

namespace {

// The value of wait_profile::client.
struct client_rate {
  std::uint32_t number;  // of the client that has set the rate
  std::uint32_t rate;

  constexpr client_rate(std::uint32_t number_, std::uint32_t rate_) noexcept : number(number_), rate(rate_) {}
  explicit constexpr client_rate(std::uint64_t value) noexcept
      : number(static_cast<std::uint32_t>(value >> 32U)), rate(static_cast<std::uint32_t>(value)) {}
  [[nodiscard]] constexpr std::uint64_t value() const noexcept { return std::uint64_t{number} << 32U | rate; }
};

// Both owners may set their rates at the same time. Each owner first stores its own rate, then applies the rate that
// follows from both, and then looks at both again. All these accesses are seq_cst, so the thread that is the last to
// apply a rate has seen both rates as they stay.
std::uint64_t rate_that_follows(wait_profile const& its) noexcept {
  std::uint64_t const of_program = its.rate_of_program.load(seq_cst);
  return of_program != 0 ? of_program : client_rate(its.client.load(seq_cst)).rate;
}

void apply_rates(wait_kind which) noexcept {
  wait_profile& its = profile_of(which);
  std::uint32_t const bit = which == wait_kind::blocked ? blocked_waits_bit : contended_waits_bit;
  std::uint64_t applied = 0;
  do {
    applied = rate_that_follows(its);
    if (its.rate.load(relaxed) == 0) its.on_since_ns.store(os::monotonic_ns(), relaxed);
    its.rate.store(applied, seq_cst);
    if (applied != 0) {
      wait_profiles_on.fetch_or(bit, seq_cst);  // it also releases the places
    } else {
      wait_profiles_on.fetch_and(~bit, seq_cst);
    }
  } while (rate_that_follows(its) != applied);
}

}  // namespace

std::uint64_t set_rate(wait_kind which, std::uint64_t rate) noexcept {
  std::uint64_t const before = profile_of(which).rate_of_program.exchange(rate, seq_cst);
  apply_rates(which);
  return before;
}

std::uint32_t begin_client_rate(wait_kind which, std::uint32_t rate) noexcept {
  atomic<std::uint64_t>& client = profile_of(which).client;
  std::uint64_t before = client.load(relaxed);
  std::uint32_t number = 0;
  do {
    number = client_rate(before).number + 1;
  } while (!client.compare_exchange(before, client_rate(number, rate).value(), seq_cst, relaxed));
  apply_rates(which);
  return number;
}

void end_client_rate(wait_kind which, std::uint32_t number) noexcept {
  atomic<std::uint64_t>& client = profile_of(which).client;
  std::uint64_t before = client.load(relaxed);
  if (client_rate(before).number != number) return;
  // A number is ended once, so the word has changed only if another client has begun.
  if (!client.compare_exchange(before, client_rate(number, 0).value(), seq_cst, relaxed)) return;
  apply_rates(which);
}

void forget_client_rates() noexcept {
  for (wait_kind const which : {wait_kind::blocked, wait_kind::contended})
    end_client_rate(which, client_rate(profile_of(which).client.load(relaxed)).number);
}

std::int64_t begin_profiled_wait(G& g, wait_reason why) noexcept {
  if (!is_for_others(why)) return 0;
  std::int64_t const now_ns = os::monotonic_ns();
  if (is_for_lock(why)) g.runnable_since_ns = now_ns;  // published with the goroutine: see contended_ns
  return now_ns;
}

void end_profiled_wait(M& m, wait_reason why, std::int64_t since_ns) noexcept {
  std::uint64_t const rate = blocked_waits.rate.load(relaxed);
  if (rate == 0) return;
  auto const waited_ns = static_cast<std::uint64_t>(std::max<std::int64_t>(os::monotonic_ns() - since_ns, 1));
  wait_place found;
  found.waits = 1;
  found.ns = static_cast<double>(waited_ns);
  if (waited_ns < rate) {
    if (m.p->random.next() % rate >= waited_ns) return;
    found.waits = static_cast<double>(rate) / static_cast<double>(waited_ns);
    found.ns = static_cast<double>(rate);
  }
  found.reason = why;
  note_stack(*m.current, found);
  blocked_waits.add(found);
}

// A goroutine that began to wait before the profile was on has another time there, from before that.
std::int64_t contended_ns(G const& g) noexcept {
  if (!is_for_lock(g.waits_for) || g.runnable_since_ns < contended_waits.on_since_ns.load(relaxed)) return 0;
  return os::monotonic_ns() - g.runnable_since_ns;
}

void note_contention(M& m, wait_reason why, std::uint64_t waits, std::int64_t ns) noexcept {
  std::uint64_t const one_in = contended_waits.rate.load(relaxed);
  G const* const g = m.current;
  if (one_in == 0 || waits == 0 || g == nullptr || m.p->random.next() % one_in != 0) return;
  wait_place found;
  found.waits = static_cast<double>(waits * one_in);
  found.ns = static_cast<double>(ns) * static_cast<double>(one_in);
  found.reason = why;
  note_stack(*g, found);
  contended_waits.add(found);
}

}  // namespace thrum::rt
