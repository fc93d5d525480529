#include "core/claims.h"

#include "core/m.h"
#include "os/barrier.h"
#include "os/chaos.h"

#include <utility>

namespace thrum::rt {
namespace {

void end_claim(P& p) noexcept {
  p.claimed.store(claim_for::none, release);  // pairs with take_old_p: what was done to its M is seen there
}

// Returns the M of a P in a system call, if that M is outside of the runtime. Tested once before the barriers, because
// a P whose M has its mark set for long would otherwise cost the barriers at every look.
M* owner_outside(P const& p) noexcept {
  if (p.status.load(acquire) != p_status::syscall) return nullptr;  // pairs with leave_p_claimable: P::m is written
  M* const m = hint_of(p.m);
  return m != nullptr && !m->in_runtime.load(relaxed) ? m : nullptr;
}

}  // namespace

bool claims::add(P& p, claim_for why) noexcept {
  claim_for unclaimed = claim_for::none;
  if (p.status.load(relaxed) != p_status::syscall || !p.claimed.compare_exchange(unclaimed, why, acquire, relaxed))
    return false;
  M* const m = owner_outside(p);
  if (m == nullptr) {
    end_claim(p);
    return false;
  }
  p.claimed_from = m;
  p.claim_link = std::exchange(list_, &p);
  return true;
}

template <class Test>
void claims::keep_if(Test test) noexcept {
  for (P** link = &list_; *link != nullptr;) {
    P& p = **link;
    if (test(p, *p.claimed_from)) {
      link = &p.claim_link;
    } else {
      *link = p.claim_link;
      end_claim(p);
    }
  }
}

void claims::settle() noexcept {
  if (list_ == nullptr) return;
  os::chaos_point("blocking.claimed");
  os::barrier_in_all_threads();
  // acquire only for ThreadSanitizer, which does not know the barriers
  keep_if([](P const&, M const& m) { return !m.in_runtime.load(acquire); });
  if (list_ == nullptr) return;
  // An M that came back and left once more may have cleared its mark a moment ago, so a second barrier and a look at
  // the P follow.
  os::chaos_point("blocking.settles");
  os::barrier_in_all_threads();
  keep_if([](P const& p, M const& m) {
    // acquire pairs with the release that set the status: what its M did with the P is done.
    bool const is_away = p.status.load(acquire) == p_status::syscall && hint_of(p.m) == &m;
    return is_away && m.away_from.load(relaxed) == &p;  // the seat of a foreign thread may belong to another run
  });
  for (P* p = list_; p != nullptr; p = p->claim_link) {
    p->claimed_from->away_from.store(nullptr, relaxed);
    p->status.store(p_status::running, relaxed);
    end_claim(*p);
  }
}

P* claims::take() noexcept {
  P* const p = list_;
  if (p != nullptr) list_ = std::exchange(p->claim_link, nullptr);
  return p;
}

}  // namespace thrum::rt
