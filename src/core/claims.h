// Ps that are taken from system calls for others: the side that pays, see sys/blocking.h.
//
// However many they are, it costs two barriers in all threads, of some microseconds each. Their Ms, should they come back meanwhile, wait
// for that long: so little else is done between `add` and `settle`.
#pragma once

#include "core/p.h"

namespace thrum::rt {

class claims {
 public:
  claims() noexcept = default;
  claims(claims const&) = delete;
  claims& operator=(claims const&) = delete;

  // False: it is in no call, its M is on the way back, or somebody else takes it.
  bool add(P& p, claim_for why = claim_for::call) noexcept;

  // After this nobody waits for the caller any more.
  void settle() noexcept;

  // Those that were won, one after the other: the caller's, running and without an M. nullptr: no more.
  [[nodiscard]] P* take() noexcept;

 private:
  template <class Test>
  void keep_if(Test test) noexcept;

  P* list_ = nullptr;
};

// All of them.
template <class Procs, class F>
void take_from_calls(Procs& procs, F taken) noexcept {
  claims all;
  for (P* const p : procs) static_cast<void>(all.add(*p));
  all.settle();
  while (P* const p = all.take()) taken(*p);
}

}  // namespace thrum::rt
