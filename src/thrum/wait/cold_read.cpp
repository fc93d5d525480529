#include "wait/cold_read.h"

#include "os/epoll.h"
#include "os/note.h"
#include "sched/park.h"
#include "sched/timers.h"
#include "sched/uring_submit.h"
#include <thrum/blocking.h>

namespace thrum::rt {
namespace {

void commit_cold_read(M& m, G&, void* argument) noexcept {
  // From here on the goroutine may run, and its record may be gone.
  if (m.sched.cold_reads.put(*static_cast<cold_read*>(argument))) m.sched.thread_maker.notify();
}

}  // namespace

bool pages_can_be_waited_for() noexcept {
  M const* const m = current_m();
  if (m == nullptr || m->current == nullptr || m->is_foreign) return false;
  // it keeps its thread in any case
  if (m->current->detour.is_locked || m->current->blocking_depth != 0) return false;
  return m->sched.options.io_uring && m->sched.cold_reads.may_be_asked();
}

page_wait::~page_wait() {
  if (run_ == nullptr) return;
  runtime_mark const mark;
  run_->cold_reads.end(read_);
}

M& page_wait::begin() noexcept {
  M& m = *current_m();
  enter_runtime(m);
  Sched& s = m.sched;
  // its run has ended and has left this goroutine behind
  if (s.epoch != Sched::live_epoch.load(relaxed)) sleep_for_good(m, wait_reason::io);
  if (run_ == nullptr) {
    run_ = &s;
    s.cold_reads.begin(read_);
  }
  return m;
}

bool page_wait::keeps_thread() noexcept {
  M& m = begin();
  bool const keeps = m.sched.cold_reads.are_few();
  if (keeps) m.sched.cold_reads.handed_off.fetch_add(1U, relaxed);
  leave_runtime(m);
  return keeps;
}

bool page_wait::wait(std::uint64_t offset) noexcept {
  M* m = &begin();
  Sched& s = m->sched;
  if (!s.cold_reads.may_be_asked() || os::open_poll() != 0 || !s.cold_reads.claim_room()) {
    s.cold_reads.handed_off.fetch_add(1U, relaxed);
    leave_runtime(*m);
    return false;
  }
  read_.offset = offset;
  read_.g = m->current;
  {
    poll_state::waiter const counts(s.poll);
    m = &park(*m, wait_reason::io, commit_cold_read, &read_, commit_holds::nothing);
  }
  bool const is_there = read_.answer == 1;
  (is_there ? s.cold_reads.waited : s.cold_reads.handed_off).fetch_add(1U, relaxed);
  leave_runtime(*m);
  return is_there;
}

void wait_until_unread(int fd) noexcept {
  for (;;) {
    M* const m = current_m();
    if (m == nullptr || m->current == nullptr || m->is_foreign) return;
    {
      runtime_mark const mark;  // so that the goroutine is not preempted while it holds the lock (T01)
      if (!m->sched.cold_reads.are_of(fd)) return;
    }
    static_cast<void>(blocking([] { return os::note().sleep_for(disk_takes_ns); }));
  }
}

}  // namespace thrum::rt
