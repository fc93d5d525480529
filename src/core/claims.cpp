#include "core/claims.h"

#include "core/m.h"
#include "os/barrier.h"
#include "os/chaos.h"

#include <utility>

namespace thrum::rt {
namespace {

void end_claim(P& p) noexcept {
  p.claimed.store(claim_for::nobody, release);  // pairs with take_old_p: what was done to its M is seen there
}

// Once: a P whose M has its mark set for long would cost the barriers at every look.
M* owner_outside(P const& p) noexcept {
  if (p.status.load(acquire) != p_status::syscall) return nullptr;  // pairs with leave_p_behind: whose it was is known
  M* const m = hint_of(p.m);
  return m != nullptr && !m->in_runtime.load(relaxed) ? m : nullptr;
}

}  // namespace

bool claims::add(P& p, claim_for why) noexcept {
  claim_for nobody = claim_for::nobody;
  if (p.status.load(relaxed) != p_status::syscall || !p.claimed.compare_exchange(nobody, why, acquire, relaxed))
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
  // acquire: for ThreadSanitizer, which does not know the barriers
  keep_if([](P const&, M const& m) { return !m.in_runtime.load(acquire); });
  if (list_ == nullptr) return;
  // The mark may have been cleared just now, by one that has been back.
  os::chaos_point("blocking.settles");
  os::barrier_in_all_threads();
  keep_if([](P const& p, M const& m) {
    // acquire pairs with the release that marked it: what its M did with it is done
    bool const is_away = p.status.load(acquire) == p_status::syscall && hint_of(p.m) == &m;
    return is_away && m.away_from.load(relaxed) == &p;  // a seat of a thread from outside may be another run's
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
