#include "wait/poll_close.h"

#include "core/current.h"
#include "core/poll_table.h"
#include "os/chaos.h"
#include "os/clock.h"
#include "os/epoll.h"
#include "os/socket.h"
#include "sched/park.h"
#include "sched/timers.h"
#include "wait/poll_use.h"
#include "wait/poll_wait.h"
#include "wait/use_count.h"
#include <thrum/blocking.h>

namespace thrum::rt {

using namespace use_words;

namespace {

// No handle and no user names the record.
void free_record(poll_desc& d) noexcept {
  runtime_mark const mark;  // so that a goroutine that holds the store's lock is not preempted (T01)
  free_poll_desc(d);
}

// How long the kernel may make the thread wait in close(fd), although the descriptor is non-blocking.
enum class closing : std::uint8_t {
  at_once,   // not at all
  lingers,   // until the peer has received everything: the program has set SO_LINGER
  may_wait,  // not known: a terminal, another device, a file of FUSE, an inotify descriptor, a packet socket
};

closing how_it_closes(int fd, poll_kind kind) noexcept {
  if (kind == poll_kind::other) return os::is_pipe(fd) ? closing::at_once : closing::may_wait;
  if (os::lingers(fd)) return closing::lingers;
  return kind == poll_kind::tcp_socket || os::is_internet_or_unix(fd) ? closing::at_once : closing::may_wait;
}

// A close that lingers is announced, so the goroutine may continue on another thread. Other closes are not announced,
// because a caller may hold a lock of its thread (T06). If the thread sleeps in one of them nevertheless, sysmon takes
// its P (sys/unannounced.h).
template <class Close>
void close_file(int fd, closing how, Close close) noexcept {
  os::poll_remove(fd);
  if (how != closing::lingers) return close(fd);
  blocking_scope const announced(blocking_hint::long_call);
  close(fd);
}

}  // namespace

void sleep_as_left_behind_by_run(M& m) noexcept {
  enter_runtime(m);
  sleep_for_good(m);
}

// If the end of the run stopped the goroutine between the change of the word and close, the number would be lost. So
// the mark is set meanwhile. It is not set if the kernel may make the thread wait in close, because the thread would
// keep its P, and could be neither preempted nor stopped.
bool close_as_last(poll_desc& d, use_word& seen, use_word next) noexcept {
  auto const leaves = [&] {
    return d.use.compare_exchange_weak(seen, next, acq_rel, relaxed);
  };  // as in leave_unless_changed
  int const fd = d.fd;
  if (closing const how = how_it_closes(fd, d.kind); how != closing::at_once) {
    if (!leaves()) return false;
    close_file(fd, how, os::close);
    return true;
  }
  runtime_mark const mark;
  if (!leaves()) return false;
  os::chaos_point("poll_close.going");
  close_file(fd, closing::at_once, os::close);
  return true;
}

// If the end of the run stops the goroutine before this, only the record is lost.
void forget_record(poll_desc& d) noexcept {
  uses_inside_run const inside;
  forget_poll_deadlines(d);
  // acq_rel pairs with drop_poll_desc: of the two, the one that comes second frees the record
  if ((d.use.fetch_or(gone, acq_rel) & dropped) != 0) free_record(d);
}

namespace {

// When a descriptor was last closed while it was in use.
constinit atomic<std::int64_t> closed_in_use_ns{0};

// The descriptor was closed in a run that ended before all its users had left. The goroutines among them never will.
// Outsiders come back.
void close_without_users(poll_desc& d, use_word seen, std::uint32_t epoch) noexcept {
  while (epoch_of(seen) != 0 && epoch_of(seen) != epoch && !is_newer(seen, epoch) &&
         (seen & (closed | going)) == closed) {
    use_word next = of_this_run(seen, epoch);
    if (users_in(next) == 0) next |= going;
    if (!leave_unless_changed(d, seen, next)) continue;
    if (has_to_close(seen, next)) forget_record(d);
    return;
  }
}

}  // namespace

void close_abandoned_descriptors(std::uint32_t ended) noexcept {
  while (poll_desc* const d = find_poll_desc(
             [](poll_desc const& each, std::uint32_t run) noexcept {
               use_word const seen = each.use.load(relaxed);
               bool const may_be_closed = epoch_of(seen) == run || (epoch_of(seen) != 0 && (seen & dropped) != 0);
               return may_be_closed && (seen & (closed | going)) == closed;
             },
             ended)) {
    close_without_users(*d, d->use.load(relaxed), 0);
  }
}

bool was_closed_in_use_lately() noexcept {
  constexpr std::int64_t lately_ns =
      100'000'000;  // a call that does not wait is over by then, unless its thread gets no CPU
  std::int64_t const then_ns = closed_in_use_ns.load(relaxed);
  return then_ns != 0 && os::monotonic_ns() - then_ns < lately_ns;
}

bool close_poll_desc(poll_desc& d) noexcept {
  use_share const whose = callers_share();
  std::uint32_t epoch = callers_epoch();
  use_word seen = d.use.load(acquire);
  use_word next = 0;
  do {
    if (is_newer(seen, epoch)) epoch = epoch_alive();
    next = of_this_run(seen, epoch);
    if ((next & closed) != 0) {
      close_without_users(d, seen, epoch);
      return false;
    }
    // The caller's share is the owner's.
    next = with_one_more(with_one_less(next, use_share::of_run), whose) | closed;
  } while (!d.use.compare_exchange_weak(seen, next, seq_cst, acquire));  // step 1 of the waker in core/poll_desc.h
  poll_use last;
  last.hold(d, whose, epoch, 0);
  wake_poll_waiters(d);
  // acquire pairs with leave_unless_changed, as for the last user. The caller's share keeps the number from being given
  // to another file.
  if (!last.is_lost() && users_in(d.use.load(acquire)) > 1) {
    close_file(d.fd, how_it_closes(d.fd, d.kind), os::close_but_keep_number);
    closed_in_use_ns.store(os::monotonic_ns(), relaxed);  // relaxed: it is a hint
  }
  last.end(d);
  return true;
}

void drop_poll_desc(poll_desc& d) noexcept {
  static_cast<void>(close_poll_desc(d));
  if ((d.use.fetch_or(dropped, acq_rel) & gone) != 0) free_record(d);  // pairs with forget_record
}

}  // namespace thrum::rt
