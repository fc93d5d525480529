// The word that says how a descriptor is used: poll_desc::use. wait/poll_use.h has the protocol.
//
//   | the run: 16 | gone, dropped, going: 3 | held outside: 2 | crowded: 2 | locked: 2 | closed: 1 | outsiders: 16 |
//   | users: 22 |
//
// `users`, `crowded`, and `locked` without `held outside` belong to the run whose number stands at the front. In a word
// of an older run they say nothing, because the goroutines of that run never come back (T12). The rest of the word is
// valid in every run.
#pragma once

#include "base/check.h"
#include "core/poll_desc.h"

#include <cstdint>
#include <initializer_list>

namespace thrum::rt {

using use_word = std::uint64_t;

// To which kind of user a share belongs.
enum class use_share : std::uint8_t {
  none,
  of_run,   // a goroutine, or a foreign thread that is inside the runtime
  outside,  // a foreign thread, which goes on when a run has ended
};

namespace use_words {

inline constexpr use_word one_user = 1;
inline constexpr use_word users_mask = 0x3f'ffff;
inline constexpr unsigned outsiders_shift = 22;
inline constexpr use_word one_outsider = use_word{1} << outsiders_shift;
inline constexpr use_word outsiders_mask = use_word{0xffff} << outsiders_shift;
inline constexpr use_word closed = use_word{1} << 38U;  // calls fail
inline constexpr use_word going = use_word{1}
                                  << 45U;  // the last user has left and closes the descriptor; no other user does
inline constexpr use_word dropped = use_word{1} << 46U;  // no handle names the record
inline constexpr use_word gone = use_word{1} << 47U;  // the descriptor is closed, and the record is not needed for that
inline constexpr use_word for_good = closed | going | dropped | gone;
inline constexpr unsigned epoch_shift = 48;

[[nodiscard]] inline use_word of_side(unsigned first_bit, poll_side_name which) noexcept {
  return use_word{1} << (first_bit + static_cast<unsigned>(which));
}
[[nodiscard]] inline use_word locked(poll_side_name which) noexcept { return of_side(39, which); }
[[nodiscard]] inline use_word crowded(poll_side_name which) noexcept { return of_side(41, which); }
[[nodiscard]] inline use_word held_outside(poll_side_name which) noexcept { return of_side(43, which); }

[[nodiscard]] inline use_word stamp(std::uint32_t epoch) noexcept { return use_word{epoch} << epoch_shift; }
[[nodiscard]] inline std::uint32_t epoch_of(use_word seen) noexcept {
  return static_cast<std::uint32_t>(seen >> epoch_shift);
}

[[nodiscard]] inline use_word users_in(use_word seen) noexcept {
  return (seen & users_mask) + ((seen & outsiders_mask) >> outsiders_shift);
}

// Returns the word as it is for the run `epoch`: without the users of an older run, but with the owner and with the
// outsiders.
[[nodiscard]] inline use_word of_this_run(use_word seen, std::uint32_t epoch) noexcept {
  if (epoch_of(seen) == epoch) return seen;
  use_word kept = seen & (for_good | outsiders_mask);
  for (poll_side_name const which : {poll_side_name::read, poll_side_name::write}) {
    if ((seen & held_outside(which)) != 0) kept |= held_outside(which) | locked(which);
  }
  return stamp(epoch) | kept | ((seen & closed) != 0 ? 0 : one_user);
}

[[nodiscard]] inline use_word with_one_more(use_word seen, use_share whose) noexcept {
  if (whose == use_share::outside) {
    if ((seen & outsiders_mask) == outsiders_mask) fatal("too many threads use one descriptor at the same time");
    return seen + one_outsider;
  }
  if ((seen & users_mask) == users_mask) fatal("too many goroutines use one descriptor at the same time");
  return seen + one_user;
}

[[nodiscard]] inline use_word with_one_less(use_word seen, use_share whose) noexcept {
  THRUM_DCHECK((seen & (whose == use_share::outside ? outsiders_mask : users_mask)) != 0);
  return seen - (whose == use_share::outside ? one_outsider : one_user);
}

// One user less. The last user of a closed descriptor has to close it, and sets `going`.
[[nodiscard]] inline use_word left_by(use_word seen, use_share whose) noexcept {
  use_word const next = with_one_less(seen, whose);
  return (next & (closed | going)) == closed && users_in(next) == 0 ? next | going : next;
}

// Whether the change from `seen` to `next` means that the caller has to close the descriptor.
[[nodiscard]] inline bool has_to_close(use_word seen, use_word next) noexcept { return (~seen & next & going) != 0; }

}  // namespace use_words
}  // namespace thrum::rt
