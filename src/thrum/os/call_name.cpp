#include "os/call_name.h"

#include <sys/syscall.h>

namespace thrum::rt::os {

char const* name_of_call(long number) noexcept {
#define THRUM_CALL(name) \
  case SYS_##name: return #name;
  switch (number) {
    THRUM_CALL(read)
    THRUM_CALL(readv)
    THRUM_CALL(pread64)
    THRUM_CALL(preadv)
    THRUM_CALL(preadv2)
    THRUM_CALL(write)
    THRUM_CALL(writev)
    THRUM_CALL(pwrite64)
    THRUM_CALL(pwritev)
    THRUM_CALL(pwritev2)
    THRUM_CALL(openat)
    THRUM_CALL(close)
    THRUM_CALL(fsync)
    THRUM_CALL(fdatasync)
    THRUM_CALL(sync_file_range)
    THRUM_CALL(fallocate)
    THRUM_CALL(ftruncate)
    THRUM_CALL(sendfile)
    THRUM_CALL(splice)
    THRUM_CALL(copy_file_range)
    THRUM_CALL(getdents64)
    THRUM_CALL(statx)
    THRUM_CALL(unlinkat)
    THRUM_CALL(renameat2)
    THRUM_CALL(flock)
    THRUM_CALL(fcntl)
    THRUM_CALL(ioctl)
    THRUM_CALL(accept)
    THRUM_CALL(accept4)
    THRUM_CALL(connect)
    THRUM_CALL(recvfrom)
    THRUM_CALL(recvmsg)
    THRUM_CALL(recvmmsg)
    THRUM_CALL(sendto)
    THRUM_CALL(sendmsg)
    THRUM_CALL(sendmmsg)
    THRUM_CALL(ppoll)
    THRUM_CALL(pselect6)
    THRUM_CALL(epoll_pwait)
    THRUM_CALL(io_uring_enter)
    THRUM_CALL(io_getevents)
    THRUM_CALL(nanosleep)
    THRUM_CALL(clock_nanosleep)
    THRUM_CALL(futex)
    THRUM_CALL(wait4)
    THRUM_CALL(waitid)
    THRUM_CALL(rt_sigsuspend)
    THRUM_CALL(rt_sigtimedwait)
    THRUM_CALL(semop)
    THRUM_CALL(semtimedop)
    THRUM_CALL(msgrcv)
    THRUM_CALL(msgsnd)
    THRUM_CALL(mq_timedreceive)
    THRUM_CALL(mq_timedsend)
    THRUM_CALL(getrandom)
    THRUM_CALL(msync)
    THRUM_CALL(restart_syscall)
#if defined(__x86_64__)  // older calls, which aarch64 does not have
    THRUM_CALL(open)
    THRUM_CALL(poll)
    THRUM_CALL(select)
    THRUM_CALL(epoll_wait)
    THRUM_CALL(pause)
    THRUM_CALL(getdents)
#endif
    default: return nullptr;
  }
#undef THRUM_CALL
}

}  // namespace thrum::rt::os
