#include "sys/exit_watch.h"

#include "os/thread_state.h"

#include <cstddef>
#include <utility>

namespace thrum::rt {
namespace {

constexpr std::int64_t asleep_for_ns = 1'000'000'000;

void report(M const& exiting, report_text& out) noexcept {
  constexpr std::size_t bytes_max = 4096;
  G const* const g = hint_of(exiting.current);
  out.begin(bytes_max);
  out.add(
      "thrum: goroutine %llu has called exit(), and has been waiting for a lock for more than a second, in the "
      "destructor of a static object or in a function of atexit.\n",
      g == nullptr ? 0ULL : static_cast<unsigned long long>(g->id));
  out.add(
      "thrum: exit() has stopped all other goroutines; if one of them holds this lock, the program never ends. Let the "
      "run end before the program exits, or write the destructor so that it does not lock what goroutines lock. "
      "quick_exit and _exit call no destructors.\n");
  out.send();
}

}  // namespace

void exit_watch::look(M const& exiting, report_text& out, std::int64_t now_ns) noexcept {
  if (is_reported_) return;
  int const tid = hint_of(exiting.tid);
  std::int64_t const cpu_ns = os::thread_cpu_ns(tid);
  if (cpu_ns != std::exchange(cpu_seen_ns_, cpu_ns)) asleep_since_ns_ = now_ns;
  if (now_ns - asleep_since_ns_ < asleep_for_ns) return;
  asleep_since_ns_ = now_ns;
  os::thread_watch watch;
  if (!watch.look(tid).waits_for_a_lock() || !out.can_begin()) return;
  is_reported_ = true;
  report(exiting, out);
}

}  // namespace thrum::rt
