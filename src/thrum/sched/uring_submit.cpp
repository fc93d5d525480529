#include "sched/uring_submit.h"

#include "core/trace.h"
#include "os/clock.h"
#include "os/note.h"
#include "sched/runnable.h"

namespace thrum::rt {
namespace {

constexpr std::int64_t patience_ns = 200'000'000;  // as for goroutines that are in user code: boot/run_services.cpp

// The refused goroutines go on without io_uring.
void go_on(Sched& s, g_list& refused) noexcept {
  if (refused.empty()) return;
  refused.for_each([&s](G& g) {
    g.end_wait();
    trace::readied(s, g, trace::ready_detail::global);
  });
  inject(s, nullptr, refused);
}

}  // namespace

void submit_to_uring(Sched& s) noexcept {
  cold_read* first = s.cold_reads.take_queued();
  if (first == nullptr) return;
  g_list refused;
  if (s.cold_reads.uring_is_open()) {
    s.cold_reads.ask(first, refused);
  } else {
    for (; first != nullptr; first = first->queued) s.cold_reads.refuse(*first, refused);
  }
  go_on(s, refused);
}

bool shut_down_uring(Sched& s) noexcept {
  std::int64_t const until_ns = os::monotonic_ns() + patience_ns;
  while (!s.cold_reads.close_if_answered()) {
    if (os::monotonic_ns() > until_ns) {
      s.cold_reads.abandon();
      return false;
    }
    static_cast<void>(os::note().sleep_for(disk_takes_ns));
    g_list over;  // these goroutines stay as they are, because the run is over
    s.cold_reads.take_answered(over);
  }
  return true;
}

}  // namespace thrum::rt
