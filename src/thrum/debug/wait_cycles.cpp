#include "debug/wait_cycles.h"

#include "debug/hexadecimal.h"
#include "os/clock.h"
#include "os/memory.h"
#include "os/short_wait.h"
#include "stack/stack.h"
#include <thrum/detail/holder.h>

#include <algorithm>

namespace thrum::rt {

struct wait_cycles::wait {
  std::uint64_t waiter;  // its id
  std::uint32_t first;   // the range of its stack, in the unit by which holders are known: from here
  std::uint32_t last;    // to here
  lock_wait lock;
  std::size_t walk;  // the walk in which it was met; 0: in none yet
};

namespace {

constexpr std::size_t noted_max = 100'000;
constexpr std::int64_t patience_ns = 100'000'000;  // for all buckets together

std::uint32_t mark_of(void const* address) noexcept {
  return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(address) >> detail::stack_mark_shift);
}

// Of a foreign thread only the stack address where it waits is known. Usually it has locked what it holds not far
// above.
constexpr std::uint32_t foreign_marks = 2;

void note_stack(G const& g, wait_cycles::wait& out) noexcept {
  if (g.on != nullptr) {
    out.first = mark_of(g.on->low);
    out.last = mark_of(g.on->top - 1);
  } else if (published_pointer(g.saved.pc) != nullptr) {
    out.first = mark_of(g.saved.sp);
    out.last = out.first + foreign_marks;
  }
}

// Calls visit(waiter, what it waits for) for all goroutines that wait for a lock without a time limit, under their
// bucket's lock.
template <class F>
void for_each_lock_wait(Sched& s, std::int64_t until_ns, F visit) noexcept {
  s.waiters.for_each_bucket([&](wait_bucket& bucket) {
    if (!os::wait_until([&] { return bucket.try_acquire(); }, until_ns)) return;
    bucket.for_each([&](sudog const& waiter) {
      if (waiter.in_race) return;
      lock_wait const lock = lock_holders::look(waiter.address, s.epoch);
      if (lock.holder != 0) visit(*waiter.g, lock);
    });
    bucket.release();
  });
}

}  // namespace

wait_cycles::~wait_cycles() {
  if (all_ != nullptr) os::unmap(reinterpret_cast<char*>(all_), room_ * sizeof(wait));
}

void wait_cycles::note(Sched& s) noexcept {
  std::int64_t const until_ns = os::monotonic_ns() + patience_ns;
  for_each_lock_wait(s, until_ns, [&](G const&, lock_wait const&) { ++room_; });
  if (room_ == 0) return;
  room_ = std::min(room_, noted_max);
  all_ = reinterpret_cast<wait*>(os::map(room_ * sizeof(wait)).address);
  if (all_ == nullptr) return;
  for_each_lock_wait(s, until_ns, [&](G const& g, lock_wait const& lock) {
    if (count_ == room_) return;
    wait& one = all_[count_++];
    one = {.waiter = g.id, .first = 0, .last = 0, .lock = lock, .walk = 0};
    note_stack(g, one);
  });
  keep_confirmed_waits(s, until_ns);
}

// While the world runs, the waits were seen at different moments, and a stack may have belonged to one goroutine first
// and to another later. A wait that is seen in both passes existed during the whole time between them, so all of these
// existed at once.
void wait_cycles::keep_confirmed_waits(Sched& s, std::int64_t until_ns) noexcept {
  constexpr std::size_t seen_again = 1;
  std::sort(all_, all_ + count_, [](wait const& a, wait const& b) { return a.waiter < b.waiter; });
  for_each_lock_wait(s, until_ns, [&](G const& g, lock_wait const& lock) {
    wait* const end = all_ + count_;
    wait* const its = std::lower_bound(all_, end, g.id, [](wait const& w, std::uint64_t id) { return w.waiter < id; });
    if (its != end && its->waiter == g.id && its->lock == lock) its->walk = seen_again;
  });
  wait const* const kept = std::remove_if(all_, all_ + count_, [](wait const& w) { return w.walk != seen_again; });
  count_ = static_cast<std::size_t>(kept - all_);
  for (wait* one = all_; one != kept; ++one) one->walk = 0;
}

wait_cycles::wait* wait_cycles::holder_of(wait const& one) noexcept {
  wait* const end = all_ + count_;
  wait* const after =
      std::upper_bound(all_, end, one.lock.holder, [](std::uint32_t mark, wait const& w) { return mark < w.first; });
  return after != all_ && one.lock.holder <= after[-1].last ? after - 1 : nullptr;
}

std::vector<wait_cycles::cycle> wait_cycles::find() {
  std::vector<cycle> found;
  std::sort(all_, all_ + count_, [](wait const& a, wait const& b) { return a.first < b.first; });
  for (wait* one = all_; one != all_ + count_; ++one) one->walk = 0;
  std::size_t walk = 0;
  for (wait* from = all_; from != all_ + count_; ++from) {
    ++walk;
    wait* at = from;
    while (at != nullptr && at->walk == 0) {
      at->walk = walk;
      at = holder_of(*at);
    }
    if (at == nullptr || at->walk != walk) continue;  // it ends, or leads to a wait of an earlier walk
    wait const* const begin = at;
    cycle& links = found.emplace_back();
    do {
      links.push_back({.waiter = at->waiter, .kind = at->lock.kind, .object = at->lock.object});
      at = holder_of(*at);
    } while (at != begin);
  }
  return found;
}

void wait_cycles::write(std::string& out) {
  auto const kind_of = [](lock_wait_kind kind) {
    return kind == lock_wait_kind::to_own    ? "waits for the mutex "
           : kind == lock_wait_kind::to_read ? "waits to read the shared_mutex "
                                             : "waits to write the shared_mutex ";
  };
  std::vector<cycle> const all = find();
  for (cycle const& links : all) {
    out += "deadlock: goroutine " + std::to_string(links.front().waiter);
    for (std::size_t i = 0; i < links.size(); ++i) {
      out += i == 0 ? " " : ", which ";
      out += kind_of(links[i].kind) + hexadecimal(reinterpret_cast<std::uintptr_t>(links[i].object));
      out += " held by goroutine " + std::to_string(links[(i + 1) % links.size()].waiter);
    }
    out += '\n';
  }
  if (!all.empty()) out += '\n';
}

}  // namespace thrum::rt
