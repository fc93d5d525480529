// Takes Ps from Ms that are in system calls: the claimant's side of the protocol in sys/blocking.h.
//
// Any number of Ps costs two barriers in all threads, of some microseconds each. An M that comes back from its call
// between `add` and `settle` waits until `settle` is done, so the claimant does little else in between.
#pragma once

#include "core/p.h"

namespace thrum::rt {

class claims {
 public:
  claims() noexcept = default;
  claims(claims const&) = delete;
  claims& operator=(claims const&) = delete;

  // Claims p. Returns false if p is not in a call, if its M is on the way back, or if another thread has claimed it.
  bool add(P& p, claim_for why = claim_for::call) noexcept;

  // Keeps the claims that can be won and drops the others. After this no M waits for the caller.
  void settle() noexcept;

  // Returns the next P that was won, or nullptr if there is none. It belongs to the caller: its status is running and
  // it has no M.
  [[nodiscard]] P* take() noexcept;

 private:
  template <class Test>
  void keep_if(Test test) noexcept;

  P* list_ = nullptr;
};

// Takes every P that can be taken from a call.
template <class Procs, class F>
void take_from_calls(Procs& procs, F taken) noexcept {
  claims all;
  for (P* const p : procs) static_cast<void>(all.add(*p));
  all.settle();
  while (P* const p = all.take()) taken(*p);
}

}  // namespace thrum::rt
