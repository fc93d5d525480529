#include "core/timer_record.h"

#include "core/immortal_store.h"

namespace thrum::rt {
namespace {

constinit immortal_store<timer_record> store;

}  // namespace

timer_record* take_timer_record(timer_function fire, void* argument) noexcept {
  timer_record* one = nullptr;
  {
    os::lock_guard const guard(store.lock);
    one = store.free;
    if (one != nullptr) {
      store.free = static_cast<timer_record*>(one->argument);
    } else {
      one = store.all.make();
    }
  }
  if (one == nullptr) return nullptr;
  one->fire = fire;
  one->argument = argument;
  one->period_ns = 0;
  one->references.store(1, relaxed);  // relaxed: no other thread knows the record
  return one;
}

void drop_reference(timer_record& r) noexcept {
  // acquire pairs with the release of the other holders: whatever they did with the record is done.
  if (r.references.fetch_sub(1U, acq_rel) != 1) return;
  THRUM_DCHECK(r.in.load(relaxed) == nullptr);
  r.armed_in = 0;
  os::lock_guard const guard(store.lock);
  r.argument = store.free;
  store.free = &r;
}

}  // namespace thrum::rt
