#include "posix_locks/caller.h"

#include <unistd.h>

namespace thrum::posix {

using namespace rt;

constinit atomic<M const*> forked_on{nullptr};
constinit atomic<int> forks_under_way{0};

namespace {
constinit atomic<int> forking_process{0};  // the parent's process id, the same for every thread that forks
}

bool is_child_already() noexcept { return ::getpid() != forking_process.load(relaxed); }

void note_fork() noexcept {
  forking_process.store(::getpid(), relaxed);
  forks_under_way.fetch_add(1, relaxed);
}

void note_fork_in_parent() noexcept { forks_under_way.fetch_sub(1, relaxed); }

void note_fork_in_child() noexcept {
  forked_on.store(current_m(), relaxed);
  forks_under_way.store(0, relaxed);
}

bool in_announced_call() noexcept {
  M const* const m = current_m();
  if (m == nullptr || m->current == nullptr || m->is_foreign || is_in_child()) return false;
  return m->current->blocking_depth != 0 && is_on_own_stack(*m);
}

}  // namespace thrum::posix
