// What tells whether the kernel may wait in the close of a descriptor: os::is_pipe and os::is_internet_or_unix.
#include "os/socket.h"

#include <array>
#include <cstdlib>
#include <string>
#include <utility>

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/if_ether.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace thrum::rt {
namespace {

class descriptor {
 public:
  explicit descriptor(int fd) noexcept : fd_(fd) {}
  ~descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  descriptor(descriptor const&) = delete;
  descriptor& operator=(descriptor const&) = delete;
  operator int() const noexcept { return fd_; }

 private:
  int fd_;
};

TEST(closing_kinds, pipes_with_and_without_a_name_are_pipes) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  descriptor const in(ends[0]);
  descriptor const out(ends[1]);
  EXPECT_TRUE(os::is_pipe(in));
  EXPECT_TRUE(os::is_pipe(out));

  std::string folder = "/tmp/thrum_kinds_XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  std::string const name = folder + "/fifo";
  ASSERT_EQ(::mkfifo(name.c_str(), 0600), 0);
  descriptor const fifo(::open(name.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  EXPECT_TRUE(os::is_pipe(fifo));
  ::unlink(name.c_str());
  ::rmdir(folder.c_str());
}

TEST(closing_kinds, nothing_else_is_a_pipe) {
  EXPECT_FALSE(os::is_pipe(descriptor(::inotify_init1(IN_CLOEXEC))));  // its close may take 20 ms
  EXPECT_FALSE(os::is_pipe(descriptor(::eventfd(0, EFD_CLOEXEC))));    // cannot be told from it
  EXPECT_FALSE(os::is_pipe(descriptor(::open("/dev/null", O_RDWR | O_CLOEXEC))));
  EXPECT_FALSE(os::is_pipe(descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))));
  EXPECT_FALSE(os::is_pipe(-1));
}

TEST(closing_kinds, sockets_of_the_internet_and_unix_sockets_are_known) {
  for (int const family : std::array{AF_INET, AF_INET6, AF_UNIX}) {
    for (int const type : std::array{SOCK_STREAM, SOCK_DGRAM}) {
      descriptor const one(::socket(family, type | SOCK_CLOEXEC, 0));
      if (one < 0) continue;  // a machine without IPv6
      EXPECT_TRUE(os::is_internet_or_unix(one)) << family << ' ' << type;
    }
  }
}

TEST(closing_kinds, other_sockets_are_not_known) {
  descriptor const netlink(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0));
  EXPECT_FALSE(os::is_internet_or_unix(netlink));
  descriptor const packets(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETH_P_ALL)));  // -1 without privileges
  EXPECT_FALSE(os::is_internet_or_unix(packets));
  EXPECT_FALSE(os::is_internet_or_unix(-1));
}

}  // namespace
}  // namespace thrum::rt
