// The suite of tests about read, write and related calls. They stand in several files.
#pragma once

#include "posix/both_ways.h"
#include "support/run_at.h"

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <string>
#include <vector>

#include <unistd.h>

namespace thrum::test {

class posix_streams : public at_every_width {
 protected:
  void SetUp() override { std::signal(SIGPIPE, SIG_IGN); }
};

// Reads at most `bytes`.
inline answer read_some(int fd, std::size_t bytes = 64) {
  std::string data(bytes, '\0');
  long const r = ::read(fd, data.data(), bytes);
  int const error = errno;
  data.resize(r > 0 ? static_cast<std::size_t>(r) : 0);
  errno = error;
  return told(r, data);
}

// Reads pieces of at most `bytes` until the end, and returns how many bytes came.
inline std::size_t read_to_the_end(int fd, std::size_t bytes) {
  std::vector<char> some(bytes);
  std::size_t all = 0;
  while (long const n = ::read(fd, some.data(), some.size())) all += static_cast<std::size_t>(n);
  return all;
}

}  // namespace thrum::test
