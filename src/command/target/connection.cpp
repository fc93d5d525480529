#include "command/target/connection.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <system_error>
#include <utility>

#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

namespace thrum::command {
namespace {

constexpr std::size_t line_bytes_max = 4096;  // of the line before an answer

std::string message_of(int error) { return std::generic_category().message(error); }

// 0: the text is no process id.
int process_of(std::string_view text) {
  int pid = 0;
  auto const [end, failed] = std::from_chars(text.data(), text.data() + text.size(), pid);
  return failed == std::errc{} && end == text.data() + text.size() && pid > 0 ? pid : 0;
}

// The number that the process has for itself, which differs in a container.
int own_number_of(int pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with("NSpid:")) continue;
    return std::max(process_of(std::string_view(line).substr(line.find_last_of(" \t") + 1)), 0);
  }
  return pid;
}

// Returns the descriptor or -errno.
int connect_to(std::string const& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return -ENAMETOOLONG;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  int const fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -errno;
  if (::connect(fd, reinterpret_cast<sockaddr const*>(&address), sizeof address) == 0) return fd;
  int const error = errno;
  ::close(fd);
  return -error;
}

// Whether this very process listens. Otherwise it may be another user's, in a directory that all users can write, or a
// child of a process that has ended.
bool is_served_by(int fd, int pid) {
  ucred peer{};
  socklen_t bytes = sizeof peer;
  return ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 && peer.pid == pid;
}

int connect_to_process(int pid) {
  int why_not = ENOENT;
  for (std::string const& path : places_of_socket(pid)) {
    int const fd = connect_to(path);
    if (fd >= 0 && is_served_by(fd, pid)) return fd;
    if (fd >= 0) ::close(fd);
    if (fd == -EACCES || fd == -EPERM) why_not = EACCES;
  }
  std::string const name = "process " + std::to_string(pid);
  if (::kill(pid, 0) != 0 && errno == ESRCH) throw target_error("there is no " + name);
  if (why_not == EACCES) throw target_error(name + " belongs to another user; only its user and root may ask it");
  throw target_error(name +
                     " serves no debug socket. Start it with THRUM_DEBUG=socket=1 in its environment, or set "
                     "options::debug_socket = \"default\"");
}

int connect_to_path(std::string const& path) {
  int const fd = connect_to(path);
  if (fd < 0) throw target_error("cannot connect to " + path + ": " + message_of(-fd));
  return fd;
}

int connect_to_target(std::string const& target) {
  if (target.find('/') != std::string::npos) return connect_to_path(target);
  int const pid = process_of(target);
  if (pid == 0) throw target_error("\"" + target + "\" is neither a process id nor the path of a socket");
  return connect_to_process(pid);
}

}  // namespace

std::vector<std::string> places_of_socket(int pid) {
  struct stat is {};
  std::string const process = "/proc/" + std::to_string(pid);
  std::string const user = std::to_string(::stat(process.c_str(), &is) == 0 ? is.st_uid : ::geteuid());
  std::vector<std::string> places;
  auto const add = [&](std::string const& directory, int number) {
    places.push_back(directory + '/' + std::to_string(number) + ".sock");
  };
  if (char const* const run = std::getenv("XDG_RUNTIME_DIR"); run != nullptr && *run == '/')
    add(std::string(run) + "/thrum", pid);
  add("/run/user/" + user + "/thrum", pid);
  add("/tmp/thrum-" + user, pid);
  // in a container
  add(process + "/root/run/user/" + user + "/thrum", own_number_of(pid));
  add(process + "/root/tmp/thrum-" + user, own_number_of(pid));
  return places;
}

connection::connection(std::string const& target)
    : name_(target.find('/') == std::string::npos ? "process " + target : target), fd_(connect_to_target(target)) {}

connection::~connection() { ::close(fd_); }

void connection::limit_time(int seconds) const {
  timeval const limit{seconds, 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

std::string connection::ask(std::string_view request, int seconds, int descriptor) {
  limit_time(seconds);
  send(std::string(request) + '\n', descriptor);
  std::string const line = receive_line();
  if (line.starts_with("error ")) throw target_error(name_ + ": " + line.substr(6));
  std::size_t bytes = 0;
  std::string_view const number = std::string_view(line).substr(std::min<std::size_t>(line.size(), 3));
  auto const [end, failed] = std::from_chars(number.data(), number.data() + number.size(), bytes);
  if (!line.starts_with("ok ") || failed != std::errc{} || end != number.data() + number.size())
    throw target_error(name_ + " does not answer like a debug socket of thrum");
  return receive_bytes(bytes);
}

void connection::send(std::string_view line, int descriptor) const {
  iovec bytes{const_cast<char*>(line.data()), line.size()};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  if (descriptor >= 0) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* const head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof descriptor);
    std::memcpy(CMSG_DATA(head), &descriptor, sizeof descriptor);
  }
  // A request is shorter than the buffer of a socket. If the other side has closed the connection, it may have said
  // why.
  if (::sendmsg(fd_, &message, MSG_NOSIGNAL) < 0 && errno != EPIPE && errno != ECONNRESET)
    throw target_error(name_ + ": " + message_of(errno));
}

void connection::receive_more() {
  std::array<char, 65536> bytes;
  long count = -1;
  do {
    count = ::recv(fd_, bytes.data(), bytes.size(), 0);
  } while (count < 0 && errno == EINTR);
  if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
    throw target_error(name_ + " does not answer; it may be stopped, or its machine very busy");
  if (count < 0 && errno != ECONNRESET) throw target_error(name_ + ": " + message_of(errno));
  if (count <= 0) throw target_error(name_ + " has closed the connection; it may have ended");
  received_.append(bytes.data(), static_cast<std::size_t>(count));
}

std::string connection::receive_line() {
  std::size_t end = received_.find('\n');
  for (; end == std::string::npos; end = received_.find('\n')) {
    if (received_.size() > line_bytes_max) throw target_error(name_ + " does not answer like a debug socket of thrum");
    receive_more();
  }
  std::string line = received_.substr(0, end);
  received_.erase(0, end + 1);
  return line;
}

std::string connection::receive_bytes(std::size_t bytes) {
  while (received_.size() < bytes) receive_more();
  std::string text = received_.substr(0, bytes);
  received_.erase(0, bytes);
  return text;
}

}  // namespace thrum::command
