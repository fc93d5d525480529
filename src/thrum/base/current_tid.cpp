#include "base/current_tid.h"

#include <sys/syscall.h>
#include <unistd.h>

namespace thrum::rt {

int current_tid() noexcept { return static_cast<int>(::syscall(SYS_gettid)); }

}  // namespace thrum::rt
