#include "boot/quit.h"

#include "base/check.h"
#include "boot/report.h"
#include "core/forked.h"
#include "core/sched.h"
#include "os/request_signal.h"
#include "os/short_wait.h"
#include "os/signal.h"

namespace thrum::rt {
namespace {

constinit atomic<Sched*> asked{nullptr};
constinit atomic<std::int32_t> handlers_at_work{0};

void quit(Sched& s) noexcept {
  print_error("SIGQUIT: quit");
  report_goroutines(s, no_goroutine_id);
  die();
}

// Runs in the signal handler; the thread maker makes the report. seq_cst: either the handler finds no run to ask, or
// the end of the run waits for the handler.
void on_signal() noexcept {
  handlers_at_work.fetch_add(1, seq_cst);
  if (Sched* const s = asked.load(seq_cst)) {
    s->thread_maker.run_once(quit);
  }
  handlers_at_work.fetch_sub(1, seq_cst);
}

}  // namespace

quit_signal::quit_signal(Sched& s) noexcept
    : is_ours_(os::install_request_signal(os::request::report, SIGQUIT, on_signal)) {
  asked.store(&s, release);
}

quit_signal::~quit_signal() {
  if (forked_inside_run())
    handlers_at_work.store(0, seq_cst);  // a child of fork has none of the parent's other threads
  if (is_ours_) os::remove_request_signal(os::request::report);
  asked.store(nullptr, seq_cst);
  os::short_wait wait;
  while (handlers_at_work.load(seq_cst) != 0) wait.pause();  // handlers that run on other threads
}

}  // namespace thrum::rt
