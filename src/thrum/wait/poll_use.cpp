#include "wait/poll_use.h"

#include "core/current.h"
#include "core/sched.h"
#include "wait/use_count.h"

#include <utility>

namespace thrum::rt {

using namespace use_words;

void own_poll_desc(poll_desc& d) noexcept {
  d.use.store(stamp(epoch_alive()) | one_user, release);  // pairs with enter_use
}

bool is_closed(poll_desc const& d) noexcept { return (d.use.load(seq_cst) & closed) != 0; }

// --- calls that need no order ---

bool poll_use::begin(poll_desc& d) noexcept {
  use_share const whose = callers_share();
  for (;;) {
    std::uint32_t const epoch = callers_epoch();
    entry_result const result = enter_use(d, whose, epoch, 0);
    if (result == entry_result::is_of_another_run) continue;
    if (result == entry_result::done) hold(d, whose, epoch, 0);
    return result == entry_result::done;
  }
}

void poll_use::end(poll_desc& d) noexcept {
  use_share const whose = share_;
  unlist();
  if (whose != use_share::none) leave_use(d, whose, epoch_);
}

// --- the uses of a foreign thread ---

namespace {

// A foreign thread's code never moves to another thread, so unlike a goroutine it may use thread-locals.
constinit thread_local poll_use* uses_of_thread = nullptr;

[[gnu::noinline]] poll_use* first_use_of_thread() noexcept { return uses_of_thread; }

}  // namespace

[[gnu::noinline]] void poll_use::list() noexcept {
  if (std::exchange(is_listed_, true)) return;
  next_ = std::exchange(uses_of_thread, this);
}

[[gnu::noinline]] void poll_use::unlist() noexcept {
  share_ = use_share::none;
  if (!std::exchange(is_listed_, false)) return;
  poll_use** link = &uses_of_thread;
  while (*link != this) link = &(*link)->next_;
  *link = next_;
}

void poll_use::hold(poll_desc& d, use_share whose, std::uint32_t epoch, use_word outside_flag) noexcept {
  d_ = &d;
  outside_flag_ = outside_flag;
  epoch_ = epoch;
  share_ = whose;
  if (whose == use_share::outside) [[unlikely]]
    list();
}

bool poll_use::counts_in(use_word seen) const noexcept {
  return share_ == use_share::outside || (share_ == use_share::of_run && epoch_of(seen) == epoch_);
}

// If another run has begun, the use stays as it is.
void poll_use::move_into_run(std::uint32_t epoch) noexcept {
  use_word seen = d_->use.load(acquire);  // both orders as in enter_use
  use_word next = 0;
  do {
    if (is_newer(seen, epoch)) return;
    next = with_one_less(of_this_run(seen, epoch), use_share::outside);
    next = with_one_more(next, use_share::of_run) & ~outside_flag_;
  } while (!d_->use.compare_exchange_weak(seen, next, acq_rel, acquire));
  share_ = use_share::of_run;
  epoch_ = epoch;
}

// Returns false if its run is over and a later run has started a new count.
bool poll_use::move_outside() noexcept {
  use_word seen = d_->use.load(relaxed);
  use_word next = 0;
  do {
    if (epoch_of(seen) != epoch_) return false;
    next = with_one_more(with_one_less(seen, use_share::of_run), use_share::outside) | outside_flag_;
  } while (!d_->use.compare_exchange_weak(seen, next, acq_rel, relaxed));
  share_ = use_share::outside;
  return true;
}

uses_inside_run::uses_inside_run() noexcept : first_(first_use_of_thread()) {
  if (first_ == nullptr) return;
  epoch_ = epoch_alive();
  for (poll_use* each = first_; each != nullptr && epoch_ != 0; each = each->next_) {
    if (each->share_ != use_share::outside) continue;
    each->move_into_run(epoch_);
    if (each->share_ == use_share::outside) epoch_ = 0;
  }
}

M* uses_inside_run::callers_m() const noexcept {
  if (first_ != nullptr && epoch_ == 0) return nullptr;
  M* const m = rt::callers_m();
  return first_ == nullptr || m == nullptr || m->sched.epoch == epoch_ ? m : nullptr;
}

void uses_inside_run::end() noexcept {
  for (poll_use* each = std::exchange(first_, nullptr); each != nullptr; each = each->next_) {
    if (each->share_ == use_share::of_run && !each->move_outside()) each->share_ = use_share::none;
  }
}

}  // namespace thrum::rt
