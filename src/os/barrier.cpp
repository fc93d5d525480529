#include "os/barrier.h"

#include "base/check.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace thrum::rt::os {

bool prepare_barrier() noexcept {
  int const errno_before = errno;
  bool const can = ::syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
  errno = errno_before;
  return can;
}

void barrier_in_all_threads() noexcept {
  if (::syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) != 0) {
    fatal("internal error: membarrier failed; errno=%d", errno);
  }
}

}  // namespace thrum::rt::os
