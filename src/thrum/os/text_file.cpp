#include "os/text_file.h"

#include "base/check.h"
#include "os/fault.h"
#include "os/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

namespace thrum::rt::os {

int open_for_reading(char const* path) noexcept {
  int error = 0;
  if (should_fail(call::open, error)) return -error;
  int const descriptor = ::open(path, O_RDONLY | O_CLOEXEC);
  return descriptor >= 0 ? descriptor : -errno;
}

long read_some(int descriptor, char* buffer, std::size_t bytes) noexcept {
  for (;;) {
    int error = 0;
    if (!should_fail(call::read, error)) {
      long const got = kernel::read(descriptor, buffer, bytes);
      if (got >= 0) return got;
      error = errno;
    }
    if (error != EINTR) return -error;
  }
}

void close_descriptor(int descriptor) noexcept { kernel::close(descriptor); }

long read_text_file(char const* path, char* buffer, std::size_t bytes) noexcept {
  THRUM_CHECK(bytes > 0);
  int const descriptor = open_for_reading(path);
  if (descriptor < 0) return descriptor;
  std::size_t length = 0;
  long got = 1;
  while (length + 1 < bytes && got > 0) {
    got = read_some(descriptor, buffer + length, bytes - 1 - length);
    if (got > 0) length += static_cast<std::size_t>(got);
  }
  close_descriptor(descriptor);
  buffer[length] = '\0';
  return got < 0 ? got : static_cast<long>(length);
}

}  // namespace thrum::rt::os
