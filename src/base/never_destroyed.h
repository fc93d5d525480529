// A constant of the whole process that needs no guard, because it is initialised before the program runs, and whose destructor does not
// run, because goroutines that a run left behind may use it until the process ends. At namespace scope: a function-local one would have
// a guard all the same. For values that only their first user can make see first_made.h.
//
//   constinit never_destroyed<category> the_category;
#pragma once

namespace thrum::rt {

template <class T>
union never_destroyed {
  constexpr never_destroyed() noexcept : value() {}
  ~never_destroyed() {}  // NOLINT(modernize-use-equals-default): the member's is not to run
  never_destroyed(never_destroyed const&) = delete;
  never_destroyed& operator=(never_destroyed const&) = delete;

  T value;
};

}  // namespace thrum::rt
