// A third-party server that a test starts for itself: a program, a folder of its own, and a free port on loopback. The
// server ends when the object is destroyed, or with the test.
#pragma once

#include "support/wait_until.h"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace thrum::test {

inline int free_port() {
  int const fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  EXPECT_EQ(::bind(fd, generic, length), 0);
  EXPECT_EQ(::getsockname(fd, generic, &length), 0);
  ::close(fd);
  return ntohs(address.sin_port);
}

class own_folder {
 public:
  own_folder() {
    char name[] = "/tmp/thrum_posix_XXXXXX";
    path_ = ::mkdtemp(name);
    std::filesystem::permissions(path_, std::filesystem::perms::all);  // for servers that are not to be root
  }
  ~own_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  own_folder(own_folder const&) = delete;
  own_folder& operator=(own_folder const&) = delete;
  [[nodiscard]] std::string const& path() const { return path_; }

 private:
  std::string path_;
};

class own_server {
 public:
  // `user` is the user as which the server runs if the test runs as root; null means the test's own user. `last` is the
  // signal that ends the server. The server's output goes to the log.
  own_server(std::vector<std::string> words, std::string const& log, char const* user, int last) : last_(last) {
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    passwd const* const other = user != nullptr && ::geteuid() == 0 ? ::getpwnam(user) : nullptr;
    id_ = ::fork();
    if (id_ == 0) {
      int const out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
      ::dup2(out, STDOUT_FILENO);
      ::dup2(out, STDERR_FILENO);
      if (other != nullptr && (::setgid(other->pw_gid) != 0 || ::setuid(other->pw_uid) != 0)) ::_exit(126);
      ::prctl(PR_SET_PDEATHSIG, last);  // also if the test crashes
      ::execvp(pointers.front(), pointers.data());
      ::_exit(127);
    }
  }
  ~own_server() {
    if (id_ <= 0) return;
    ::kill(id_, last_);
    ::waitpid(id_, nullptr, 0);
  }
  own_server(own_server const&) = delete;
  own_server& operator=(own_server const&) = delete;

  // False also when it has ended by itself.
  template <class Predicate>
  [[nodiscard]] bool comes_up(Predicate answers) {
    bool has_ended = false;
    bool const waited = wait_until([&] {
      has_ended = id_ <= 0 || ::waitpid(id_, nullptr, WNOHANG) == id_;
      if (has_ended) id_ = -1;
      if (has_ended || answers()) return true;
      ::usleep(5000);  // the server needs the CPU
      return false;
    });
    return waited && !has_ended;
  }

 private:
  pid_t id_ = -1;
  int last_;
};

inline std::string all_of(std::string const& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return std::move(text).str();
}

}  // namespace thrum::test
