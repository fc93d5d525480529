#include "boot/run_guests.h"

#include "core/current.h"
#include "os/lock.h"

#include <utility>

namespace thrum::rt {

class guest_list {
 public:
  void open(std::uint32_t epoch) noexcept {
    os::lock_guard const guard(lock_);
    epoch_ = epoch;
  }
  // Returns the first of the guests, who are linked. None is admitted from here on.
  run_guest* close() noexcept {
    os::lock_guard const guard(lock_);
    epoch_ = 0;
    return std::exchange(first_, nullptr);
  }
  std::uint64_t admit(std::uint32_t epoch, run_guest& guest) noexcept {
    runtime_mark const mark;
    os::lock_guard const guard(lock_);
    if (epoch != epoch_) return 0;
    guest.next_ = first_;
    guest.number_ = ++numbers_;
    first_ = &guest;
    guest.has_been_admitted();
    return guest.number_;
  }
  taken_guest take(std::uint64_t number) noexcept {
    runtime_mark const mark;
    os::lock_guard const guard(lock_);
    for (run_guest** at = &first_; *at != nullptr; at = &(*at)->next_) {
      if ((*at)->number_ != number) continue;
      if (!(*at)->lets_go()) return {taken_guest::outcome::busy, nullptr};
      return {taken_guest::outcome::taken, std::exchange(*at, (*at)->next_)};
    }
    return {};
  }
  // The lock may be held for ever here, by a thread that this process does not have.
  run_guest* take_all_in_child() noexcept { return std::exchange(first_, nullptr); }
  [[nodiscard]] static run_guest* behind(run_guest const& guest) noexcept { return guest.next_; }

 private:
  os::lock lock_{lock_rank::leaf};
  // under the lock
  std::uint32_t epoch_ = 0;  // of the run that takes guests; 0: none does
  run_guest* first_ = nullptr;
  std::uint64_t numbers_ = 0;
};

namespace {

constinit guest_list guests;

}  // namespace

std::uint64_t admit_guest(Sched const& s, run_guest& guest) noexcept { return guests.admit(s.epoch, guest); }

taken_guest take_guest(std::uint64_t number) noexcept { return guests.take(number); }

void open_to_guests(Sched const& s) noexcept { guests.open(s.epoch); }

void end_guests() noexcept {
  for (run_guest* guest = guests.close(); guest != nullptr;) {
    run_guest* const next = guest_list::behind(*guest);
    guest->end();
    guest = next;
  }
}

void abandon_guests() noexcept { static_cast<void>(guests.close()); }

void close_descriptors_of_guests_in_child() noexcept {
  for (run_guest* guest = guests.take_all_in_child(); guest != nullptr; guest = guest_list::behind(*guest))
    guest->close_descriptors_in_child();
}

}  // namespace thrum::rt
