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

// Sends one byte and waits for the answer.
inline void ask(fd& over) {
  char byte = 'q';
  EXPECT_EQ(over.write_all({&byte, 1}), 1U);
  EXPECT_EQ(over.read_some({&byte, 1}), 1U);
}

// Sends back what it reads, until the other side closes the connection.
inline void answer_all(fd& over) {
  std::array<char, 512> bytes{};
  while (std::size_t const n = over.read_some(bytes)) over.write_all({bytes.data(), n});
}

// Reads until the end of the stream or until the buffer is full. Returns the number of bytes.
template <class Stream>
std::size_t read_to_end(Stream& from, mutable_buffer to) {
  std::size_t done = 0;
  while (done < to.size()) {
    std::size_t const more = from.read_some({static_cast<char*>(to.data()) + done, to.size() - done});
    if (more == 0) break;
    done += more;
  }
  return done;
}

}  // namespace thrum::test
