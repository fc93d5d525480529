// Pairs of connected descriptors for tests of the poller.
#pragma once

#include "os/socket.h"
#include <thrum/fd.h>

#include <array>
#include <utility>

#include <gtest/gtest.h>

namespace thrum::test {

struct pair_of_fds {
  fd a;
  fd b;
};

inline pair_of_fds socket_pair(int type = SOCK_STREAM) {
  int ends[2]{};
  EXPECT_EQ(rt::os::open_socket_pair(type, ends), 0);
  return {fd(ends[0]), fd(ends[1])};
}

// a reads, b writes.
inline pair_of_fds pipe_pair() {
  int ends[2]{};
  EXPECT_EQ(rt::os::open_pipe(ends), 0);
  return {fd(ends[0]), fd(ends[1])};
}

// One byte there and back, as the one who asks.
inline void ask(fd& over) {
  char byte = 'q';
  EXPECT_EQ(over.write_all({&byte, 1}), 1U);
  EXPECT_EQ(over.read_some({&byte, 1}), 1U);
}

// Answers until the other side ends.
inline void answer_all(fd& over) {
  std::array<char, 512> bytes{};
  while (std::size_t const n = over.read_some(bytes)) over.write_all({bytes.data(), n});
}

}  // namespace thrum::test
