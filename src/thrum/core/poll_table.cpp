#include "core/poll_table.h"

#include "core/immortal_store.h"

#include <utility>

namespace thrum::rt {
namespace {

using namespace poll_words;

constinit immortal_store<poll_desc> store;
constinit atomic<inner_poll> fetch_from_inner{nullptr};

// An address has 48 bits and is a multiple of 64, which leaves 22 bits for the generation. 16 of them are used.
constexpr unsigned address_shift = 16;
static_assert(alignof(poll_desc) >= 64);

// Returns the run of the goroutine that the word names. Read before the word is changed, because afterwards the next
// waiter may stand there.
std::uint32_t waiters_epoch(poll_side const& side, poll_word seen) noexcept {
  return waiter(seen) == nullptr ? 0 : side.epoch.load(relaxed);  // relaxed: written before the G is put there
}

// Returns the goroutine that is to be readied. nullptr: no goroutine waited, or an older generation is meant.
G* make_ready(poll_side& side, std::uint16_t meant, std::uint32_t epoch) noexcept {
  poll_word seen = side.word.load(acquire);  // pairs with the waiter's commit, as does the acquire below
  std::uint32_t waits_in = 0;
  do {
    if (generation(seen) != meant) return nullptr;
    if (payload(seen) == event_came) return nullptr;
    waits_in = waiters_epoch(side, seen);
  } while (!side.word.compare_exchange_weak(seen, with(seen, event_came), seq_cst, acquire));
  return waits_in == epoch ? waiter(seen) : nullptr;
}

}  // namespace

poll_desc* take_poll_desc(int fd, poll_kind kind) noexcept {
  poll_desc* d = nullptr;
  {
    os::lock_guard const guard(store.lock);
    if (store.free != nullptr) {
      d = std::exchange(store.free, store.free->link);
    } else {
      d = store.all.make();
    }
    if (d == nullptr) return nullptr;
    ++d->generation;
  }
  for (poll_side& side : d->sides) {
    side.drained = false;
    side.deadline.store(no_poll_deadline, relaxed);  // all relaxed: no other thread knows the record
    side.armed_in.store(0, relaxed);
    side.word.store(poll_word{d->generation} << generation_shift, relaxed);
  }
  d->fd = fd;
  d->kind = kind;
  d->ended.store(false, relaxed);
  d->use.store(0, relaxed);
  return d;
}

void free_poll_desc(poll_desc& d) noexcept {
  os::lock_guard const guard(store.lock);
  // From here on old events find another generation.
  auto const next = static_cast<std::uint16_t>(d.generation + 1U);
  for (poll_side& side : d.sides) side.word.store(poll_word{next} << generation_shift, relaxed);
  d.link = std::exchange(store.free, &d);
}

poll_desc* find_poll_desc(bool (*is_meant)(poll_desc const& d, std::uint32_t argument) noexcept,
                          std::uint32_t argument) noexcept {
  os::lock_guard const guard(store.lock);
  auto walk = store.all.begin_walk();
  poll_desc* d = store.all.step(walk);
  while (d != nullptr && !is_meant(*d, argument)) d = store.all.step(walk);
  return d;
}

slab<poll_desc> const& all_poll_descs() noexcept { return store.all; }

std::uint64_t poll_data_of(poll_desc const& d) noexcept {
  return (std::uint64_t{reinterpret_cast<std::uintptr_t>(&d)} << address_shift) | d.generation;
}

void set_inner_poll(inner_poll fetch) noexcept { fetch_from_inner.store(fetch, relaxed); }

G* take_poll_waiter(poll_side& side, std::uint32_t epoch) noexcept {
  poll_word seen = side.word.load(seq_cst);  // step 2 of the right column in poll_desc.h
  do {
    if (payload(seen) == nothing || payload(seen) == event_came) return nullptr;
    if (waiter(seen) != nullptr && waiters_epoch(side, seen) != epoch) return nullptr;  // a waiter of another run
  } while (!side.word.compare_exchange_weak(seen, with(seen, nothing), seq_cst, seq_cst));
  return waiter(seen);
}

poll_notified take_events(os::poll_event const* events, int count, std::uint32_t epoch, g_list& runnable) noexcept {
  auto notified = poll_notified::no;
  for (int i = 0; i < count; ++i) {
    std::uint32_t const what = events[i].what;
    if ((what & os::poll_says::notified) != 0) {
      notified = poll_notified::yes;
      continue;
    }
    if ((what & os::poll_says::uring) != 0) continue;  // not about a descriptor: see sched/poll.cpp
    if (events[i].data == inner_poll_data) [[unlikely]] {
      fetch_from_inner.load(relaxed)(epoch, runnable);  // relaxed: set before its descriptor was added
      continue;
    }
    auto const meant = static_cast<std::uint16_t>(events[i].data);
    std::uint64_t const address = events[i].data >> address_shift & ~std::uint64_t{63};
    poll_desc& d = *reinterpret_cast<poll_desc*>(static_cast<std::uintptr_t>(address));
    if (generation(d.side(poll_side_name::read).word.load(relaxed)) != meant) continue;
    // `ended` is set before the words, so a goroutine that finds one of the words ready sees it. A stale event at this
    // very moment may set it for the next generation, which costs that generation a needless call now and then.
    if ((what & os::poll_says::ended) != 0) d.ended.store(true, relaxed);
    if ((what & os::poll_says::readable) != 0) {
      if (G* const g = make_ready(d.side(poll_side_name::read), meant, epoch)) runnable.push_back(*g);
    }
    if ((what & os::poll_says::writable) != 0) {
      if (G* const g = make_ready(d.side(poll_side_name::write), meant, epoch)) runnable.push_back(*g);
    }
  }
  return notified;
}

}  // namespace thrum::rt
