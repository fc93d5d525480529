// The buckets in which calls wait for descriptors by number. posix/watch.h has the protocol.
#pragma once

#include "core/entry.h"
#include "os/lock.h"
#include "posix/bucket_set.h"
#include "posix/waiting_call.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace thrum::posix {

using namespace rt;

struct alignas(cache_line_bytes) fd_bucket {
  os::lock lock{lock_rank::descriptor};
  // Under the lock. Whether `first` is null is also read without the lock.
  atomic<watch*> first{nullptr};
  watch* last = nullptr;
  ticket newest = 0;

  void enter(watch& one, waiting_call& owner) noexcept {
    one.owner = &owner;
    one.its_ticket = ++newest;
    one.is_in_bucket = true;
    one.before = std::exchange(last, &one);
    if (one.before == nullptr) {
      first.store(&one, relaxed);  // relaxed: outside the lock it is only a hint; enter_if_new has the barrier
    } else {
      one.before->next = &one;
    }
  }

  void leave(watch& one) noexcept {
    if (!std::exchange(one.is_in_bucket, false)) return;
    if (one.asked != 0) {
      if (watch* const heir = find(one.next, one.fd, one.owner->epoch)) heir->asked |= one.asked;
    }
    if (one.before == nullptr) {
      first.store(one.next, relaxed);
    } else {
      one.before->next = one.next;
    }
    (one.next == nullptr ? last : one.next->before) = one.before;
  }

  // The first watch of this run from `one` on that waits for fd.
  static watch* find(watch* one, int fd, std::uint32_t epoch) noexcept {
    while (one != nullptr && !(one->fd == fd && one->owner->epoch == epoch && !one->was_closed.load(relaxed))) {
      one = one->next;
    }
    return one;
  }
  watch* find(int fd, std::uint32_t epoch) const noexcept { return find(first.load(relaxed), fd, epoch); }
  watch* find_in_turn(int fd, std::uint32_t epoch) const noexcept {
    watch* one = find(fd, epoch);
    while (one != nullptr && one->owner->how != turn_order::in_turn) one = find(one->next, fd, epoch);
    return one;
  }

  // Visits all watches of this run. Drops those of other runs.
  template <class F>
  void for_each(std::uint32_t epoch, F visit) noexcept {
    for (watch* each = first.load(relaxed); each != nullptr;) {
      watch& one = *std::exchange(each, each->next);
      if (one.owner->epoch != epoch) {
        leave(one);
      } else {
        visit(one);
      }
    }
  }
};

inline constexpr std::size_t bucket_count = 1024;
extern constinit std::array<fd_bucket, bucket_count> buckets;

[[nodiscard]] inline std::size_t index_of(int fd) noexcept { return static_cast<unsigned>(fd) % bucket_count; }
[[nodiscard]] inline fd_bucket& bucket_of(int fd) noexcept { return buckets[index_of(fd)]; }

// The buckets in which close has noted that a call is to be woken (watch::is_to_be_woken).
extern constinit bucket_set<bucket_count> buckets_to_wake;

// Arms the number for these events. Returns 0 or the errno. Called under the bucket's lock. If the kernel does not know
// the number as before, the watches that it knew are marked as closed.
[[nodiscard]] int tell_kernel(fd_bucket& bucket, int fd, std::uint32_t events, std::uint32_t epoch,
                              g_list& runnable) noexcept;

}  // namespace thrum::posix
