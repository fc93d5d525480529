// A constant of the whole process whose destructor never runs, because goroutines that a run left behind may use it
// until the process ends.
//
// It needs no initialisation guard, because it is initialised before the program runs. Define it at namespace scope
// with constinit, as below. For a value that only its first user can make, see first_made.h.
//
//   constinit never_destroyed<category> the_category;
#pragma once

namespace thrum::rt {

template <class T>
union never_destroyed {
  constexpr never_destroyed() noexcept : value() {}
  ~never_destroyed() {}  // NOLINT(modernize-use-equals-default): the member's destructor must not run
  never_destroyed(never_destroyed const&) = delete;
  never_destroyed& operator=(never_destroyed const&) = delete;

  T value;
};

}  // namespace thrum::rt
