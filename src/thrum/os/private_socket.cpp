#include "os/private_socket.h"

#include "base/platform.h"
#include "os/kernel.h"
#include "os/repeat.h"
#include "os/socket.h"

#include <charconv>
#include <cstring>
#include <string_view>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace thrum::rt::os {
namespace {

constexpr unsigned user_alone = 0600;
constexpr unsigned user_alone_in_directory = 0700;

static_assert(sizeof(sockaddr_un::sun_path) == socket_path_max);

// The address of a path that was found to be short enough.
sockaddr_un address_of(char const* path) noexcept {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path, sizeof address.sun_path - 1);
  return address;
}

// Whether the file is a socket to which no process listens. A connection that is refused is the only proof. The socket
// of a process that has not called listen yet looks the same, which is for some microseconds.
bool is_stale_socket(char const* path) noexcept {
  struct stat is {};
  if (repeat([&] { return ::lstat(path, &is); }) != 0 || !S_ISSOCK(is.st_mode)) return false;
  int const fd = open_socket(AF_UNIX, SOCK_STREAM, 0);
  if (fd < 0) return false;
  sockaddr_un const address = address_of(path);
  int const result = connect(fd, &address, sizeof address);
  close(fd);
  return result == -ECONNREFUSED;
}

int bind_and_listen(int fd, sockaddr_un const& address, int backlog) noexcept {
  int error = bind(fd, &address, sizeof address);
  if (error == -EADDRINUSE && is_stale_socket(address.sun_path)) {
    static_cast<void>(repeat([&] { return ::unlink(address.sun_path); }));
    error = bind(fd, &address, sizeof address);
  }
  return error < 0 ? error : listen(fd, backlog);
}

// 0: the name is not PID.sock.
int process_in_name(std::string_view name) noexcept {
  int pid = 0;
  auto const [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
  std::string_view const rest(end, static_cast<std::size_t>(name.data() + name.size() - end));
  return error == std::errc{} && rest == ".sock" ? pid : 0;
}

bool process_exists(int pid) noexcept {
  return repeat([=] { return ::kill(pid, 0); }) != -ESRCH;
}

// See os/kernel.h. The system call changes the time.
int poll_for(std::span<pollfd> all, timespec* limit) noexcept {
  if constexpr (kernel::by_name) return ::ppoll(all.data(), all.size(), limit, nullptr);
  return static_cast<int>(::syscall(SYS_ppoll, all.data(), all.size(), limit, nullptr, 0));
}

long make_private(int directory) noexcept {
  struct stat is {};
  if (long const error = repeat([&] { return ::fstat(directory, &is); }); error < 0) return error;
  if (is.st_uid != user_id()) return -EPERM;
  if ((is.st_mode & 0777U) == user_alone_in_directory) return 0;
  return repeat([=] { return ::fchmod(directory, user_alone_in_directory); });
}

template <class F>
int identity_by(F look, file_identity& out) noexcept {
  struct stat is {};
  long const error = repeat([&] { return look(is); });
  if (error == 0) out = {is.st_dev, is.st_ino};
  return static_cast<int>(error);
}

}  // namespace

std::uint32_t user_id() noexcept { return ::geteuid(); }

THRUM_OPAQUE int make_private_directory(char const* path) noexcept {
  long const made = repeat([=] { return ::mkdir(path, user_alone_in_directory); });
  if (made < 0 && made != -EEXIST) return static_cast<int>(made);
  // Not by name, because the name may lead elsewhere by then.
  long const fd = repeat([=] { return ::open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC); });
  if (fd < 0) return static_cast<int>(fd);
  long const error = make_private(static_cast<int>(fd));
  close(static_cast<int>(fd));
  return static_cast<int>(error);
}

THRUM_OPAQUE int identity_of(char const* path, file_identity& out) noexcept {
  return identity_by([=](struct stat& is) { return ::lstat(path, &is); }, out);
}

THRUM_OPAQUE int identity_of(int fd, file_identity& out) noexcept {
  return identity_by([=](struct stat& is) { return ::fstat(fd, &is); }, out);
}

THRUM_OPAQUE void remove_if_it_is(char const* path, file_identity const& wanted) noexcept {
  file_identity found;
  if (identity_of(path, found) == 0 && found == wanted) static_cast<void>(repeat([=] { return ::unlink(path); }));
}

THRUM_OPAQUE int listen_privately(char const* path, int backlog) noexcept {
  if (std::strlen(path) >= socket_path_max) return -ENAMETOOLONG;
  int const fd = open_socket(AF_UNIX, SOCK_STREAM, 0);
  if (fd < 0) return fd;
  // bind gives the file the mode of the socket, less the bits of the umask, so there is no moment at which other users
  // could connect.
  long error = repeat([=] { return ::fchmod(fd, user_alone); });
  if (error == 0) error = bind_and_listen(fd, address_of(path), backlog);
  if (error == 0) return fd;
  close(fd);
  return static_cast<int>(error);
}

THRUM_OPAQUE void remove_stale_sockets(char const* directory) noexcept {
  int const errno_before = errno;
  if (DIR* const open = ::opendir(directory)) {
    while (dirent const* const entry = ::readdir(open)) {
      int const pid = process_in_name(entry->d_name);
      char path[socket_path_max];
      std::size_t const length = std::strlen(directory) + 1 + std::strlen(entry->d_name);
      if (pid <= 0 || length >= sizeof path || process_exists(pid)) continue;
      std::strcpy(path, directory);
      std::strcat(path, "/");
      std::strcat(path, entry->d_name);
      if (is_stale_socket(path)) ::unlink(path);
    }
    ::closedir(open);
  }
  errno = errno_before;
}

THRUM_OPAQUE int user_of_peer(int fd, std::uint32_t& out) noexcept {
  ucred peer{};
  socklen_t bytes = sizeof peer;
  long const error = repeat([&] { return ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes); });
  if (error == 0) out = peer.uid;
  return static_cast<int>(error);
}

THRUM_OPAQUE long receive_with_descriptor(int fd, std::span<char> to, int& descriptor) noexcept {
  constexpr std::size_t descriptors_max = 253;  // SCM_MAX_FD; what does not fit is closed by the kernel
  alignas(cmsghdr) char control[CMSG_SPACE(descriptors_max * sizeof(int))];
  iovec bytes{to.data(), to.size()};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  long const received = receive(fd, message);
  if (received < 0) return received;
  bool is_first = true;
  for (cmsghdr* head = CMSG_FIRSTHDR(&message); head != nullptr; head = CMSG_NXTHDR(&message, head)) {
    if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) continue;
    std::size_t const count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int passed = -1;
      std::memcpy(&passed, CMSG_DATA(head) + i * sizeof(int), sizeof passed);
      if (is_first) descriptor = passed;
      if (!is_first) close(passed);
      is_first = false;
    }
  }
  return received;
}

THRUM_OPAQUE int wait_for_any(std::span<pollfd> all, std::int64_t timeout_ns) noexcept {
  constexpr std::int64_t ns_per_s = 1'000'000'000;
  timespec limit{timeout_ns / ns_per_s, timeout_ns % ns_per_s};
  timespec* const until = timeout_ns < 0 ? nullptr : &limit;
  int const errno_before = errno;
  int const ready = poll_for(all, until);
  errno = errno_before;
  return ready < 0 ? 0 : ready;
}

}  // namespace thrum::rt::os
