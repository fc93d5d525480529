#include "posix/waiting_call.h"

#include "core/current.h"
#include "core/sched.h"
#include "sync/wait.h"

namespace thrum::posix {

using namespace rt;

waiting_call::waiting_call(Sched& its_run, turn_order its_way) noexcept
    : run(its_run), epoch(its_run.epoch), how(its_way) {}

void waiting_call::clear_word() noexcept {
  wait_bucket& bucket = run.waiters.bucket_of(&is_set_);
  bucket.acquire();
  is_set_ = false;
  bucket.release();
}

void waiting_call::set_word(g_list& runnable) noexcept {
  wait_bucket& bucket = run.waiters.bucket_of(&is_set_);
  bucket.acquire();
  is_set_ = true;
  g_list taken = take_all(bucket, &is_set_);
  bucket.release();
  while (G* const g = taken.pop_front()) runnable.push_back(*g);
}

bool waiting_call::park_until_set(std::int64_t deadline_ns) {
  rt::poll_state::waiter const counts(run.poll);
  return wait_if(
      *current_m(), &is_set_, wait_reason::io, deadline_ns, [&] { return !is_set_; }, [] {});
}

}  // namespace thrum::posix
