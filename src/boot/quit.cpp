#include "boot/quit.h"

#include "base/check.h"
#include "debug/dump.h"
#include "os/quit_signal.h"
#include "os/thread.h"
#include "sched/thread_maker.h"
#include "sched/world.h"

namespace thrum::rt {
namespace {

// What cannot be stopped within this is shown as it is found.
constexpr std::int64_t patience_ns = 1'000'000'000;

constinit atomic<Sched*> asked{nullptr};
constinit atomic<std::int32_t> handlers_at_work{0};

// In the handler: the thread maker will do it. seq_cst: either the handler finds nobody to ask, or the end waits for the handler.
void on_signal() noexcept {
  handlers_at_work.fetch_add(1, seq_cst);
  if (Sched* const s = asked.load(seq_cst)) {
    s->quit_is_asked.store(true, release);
    ring_thread_maker(*s);
  }
  handlers_at_work.fetch_sub(1, seq_cst);
}

void quit(Sched& s) noexcept {
  print_error("SIGQUIT: quit");
  goroutine_list all;
  {
    stopped_world const world(s, patience_ns);
    if (!world.is_complete()) print_error("thrum: not every goroutine could be stopped");
    all.note(s, world.is_stopped() ? goroutine_list::frames::noted : goroutine_list::frames::none);
  }
  print_goroutines(all);
  die();
}

}  // namespace

quit_signal::quit_signal(Sched& s) noexcept : is_ours_(os::install_quit_signal(on_signal)) {
  s.quit = quit;
  asked.store(&s, release);
}

quit_signal::~quit_signal() {
  if (is_ours_) os::remove_quit_signal();
  asked.store(nullptr, seq_cst);
  while (handlers_at_work.load(seq_cst) != 0) os::yield_thread();  // on other threads
}

}  // namespace thrum::rt
