#include "os/files.h"

#include "base/platform.h"
#include "os/fault.h"
#include "os/kernel.h"
#include "os/repeat.h"

#include <climits>
#include <cstdio>
#include <cstdlib>

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

namespace thrum::rt::os {
namespace {

int open(char const* path, int flags, unsigned permissions) noexcept {
  return static_cast<int>(repeat(call::open, [=] { return ::open(path, flags | O_CLOEXEC, permissions); }));
}

}  // namespace

THRUM_OPAQUE int open_to_read(char const* path) noexcept { return open(path, O_RDONLY, 0); }
THRUM_OPAQUE int open_to_write(char const* path, unsigned permissions) noexcept {
  return open(path, O_WRONLY | O_CREAT | O_TRUNC, permissions);
}
// A lock of fcntl is used, because a child of fork does not have it. Locks of flock and of open file descriptions would
// stay with such a child.
THRUM_OPAQUE int open_to_write_alone(char const* path, unsigned permissions) noexcept {
  int const fd = open(path, O_WRONLY | O_CREAT, permissions);
  if (fd < 0 || !is_regular(fd)) return fd;
  int const errno_before = errno;
  struct flock all {};
  all.l_type = F_WRLCK;
  all.l_whence = SEEK_SET;
  int error = 0;
  if (::fcntl(fd, F_SETLK, &all) != 0 && (errno == EAGAIN || errno == EACCES)) error = EBUSY;
  if (error == 0 && ::ftruncate(fd, 0) != 0) error = errno;
  errno = errno_before;
  if (error == 0) return fd;
  static_cast<void>(close_file(fd));
  return -error;
}
THRUM_OPAQUE int open_to_append(char const* path, unsigned permissions) noexcept {
  return open(path, O_WRONLY | O_CREAT | O_APPEND, permissions);
}
THRUM_OPAQUE int open_to_update(char const* path) noexcept { return open(path, O_RDWR, 0); }
THRUM_OPAQUE int open_exclusively(char const* path, unsigned permissions) noexcept {
  return open(path, O_RDWR | O_CREAT | O_EXCL, permissions);
}

// O_TMPFILE is not known to all file systems.
THRUM_OPAQUE int open_without_name(char const* directory) noexcept {
  constexpr unsigned user_alone = 0600;
  int const unnamed = open(directory, O_RDWR | O_TMPFILE, user_alone);
  if (unnamed >= 0) return unnamed;
  char path[PATH_MAX];
  int const length = std::snprintf(path, sizeof path, "%s/thrumXXXXXX", directory);
  if (length < 0 || static_cast<std::size_t>(length) >= sizeof path) return -ENAMETOOLONG;
  int const errno_before = errno;
  int const named = ::mkostemp(path, O_CLOEXEC);
  int const result = named < 0 ? -errno : named;
  if (named >= 0) static_cast<void>(::unlink(path));
  errno = errno_before;
  return result;
}

THRUM_OPAQUE long read_at(int fd, void* to, std::size_t bytes, std::uint64_t offset) noexcept {
  return repeat(call::receive, [=] { return ::pread(fd, to, bytes, static_cast<off_t>(offset)); });
}

THRUM_OPAQUE long read_from_memory(int fd, void* to, std::size_t bytes, std::uint64_t offset) noexcept {
  iovec const part{to, bytes};
  return repeat(call::memory_read, [&] { return ::preadv2(fd, &part, 1, static_cast<off_t>(offset), RWF_NOWAIT); });
}

THRUM_OPAQUE bool is_regular(int fd) noexcept {
  struct stat about {};
  return repeat([&] { return ::fstat(fd, &about); }) == 0 && S_ISREG(about.st_mode);
}

THRUM_OPAQUE bool is_open_to_write(int fd) noexcept {
  long const flags = repeat([&] { return ::fcntl(fd, F_GETFL); });
  return flags >= 0 && (flags & O_ACCMODE) != O_RDONLY && (flags & O_PATH) == 0;
}

THRUM_OPAQUE long write_at(int fd, void const* from, std::size_t bytes, std::uint64_t offset) noexcept {
  return repeat(call::send, [=] { return ::pwrite(fd, from, bytes, static_cast<off_t>(offset)); });
}

THRUM_OPAQUE std::int64_t size_of_file(int fd) noexcept {
  struct stat about {};
  long const failed = repeat([&] { return ::fstat(fd, &about); });
  return failed < 0 ? failed : about.st_size;
}

THRUM_OPAQUE int sync_file(int fd) noexcept {
  return static_cast<int>(repeat([=] { return ::fsync(fd); }));
}

THRUM_OPAQUE int close_file(int fd) noexcept {
  int const errno_before = errno;
  int const error = kernel::close(fd) == 0 ? 0 : errno;
  errno = errno_before;
  return error == EINTR ? 0 : -error;  // after EINTR, Linux has closed the descriptor
}

THRUM_OPAQUE long path_of_descriptor(int fd, char* to, std::size_t bytes) noexcept {
  char link[32];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  return repeat([&] { return ::readlink(link, to, bytes); });
}

}  // namespace thrum::rt::os
