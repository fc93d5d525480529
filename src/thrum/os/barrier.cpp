#include "os/barrier.h"

#include "base/check.h"
#include "os/fault.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace thrum::rt::os {

constinit atomic<bool> barrier_is_prepared{false};

void prepare_barrier() noexcept {
  int const errno_before = errno;
  int error = 0;
  bool const can = !should_fail(call::membarrier, error) &&
                   ::syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
  errno = errno_before;
  barrier_is_prepared.store(can, relaxed);
}

void barrier_in_all_threads() noexcept {
  if (::syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) != 0) {
    fatal(
        "the system call membarrier failed (errno=%d), although it worked when the run began. A sandbox that "
        "forbids it has to be set up before thrum::run",
        errno);
  }
}

}  // namespace thrum::rt::os
