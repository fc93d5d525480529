#include "support/server_process.h"

#include "support/child.h"
#include "support/wait_until.h"

#include <cstdlib>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace thrum::test {

namespace {
constexpr int start_limit_ms = 60'000;
}

server_process::server_process(std::filesystem::path const& program, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), program.string());
  std::vector<char*> words;
  for (std::string& word : arguments) words.push_back(word.data());
  words.push_back(nullptr);
  int ends[2]{};
  if (::pipe2(ends, O_CLOEXEC) != 0) return;
  id_ = ::fork();
  if (id_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // ends the server even if the test crashes
    ::dup2(ends[1], STDOUT_FILENO);
    ::execv(words.front(), words.data());
    ::_exit(127);
  }
  ::close(ends[1]);
  output_ = ends[0];
  if (id_ > 0) read_port();
}

server_process::~server_process() {
  if (id_ > 0) {
    ::kill(id_, SIGKILL);
    ::waitpid(id_, nullptr, 0);
  }
  if (output_ >= 0) ::close(output_);
}

void server_process::read_port() {
  for (;;) {
    pollfd ready{output_, POLLIN, 0};
    char c = 0;
    if (::poll(&ready, 1, start_limit_ms) != 1 || ::read(output_, &c, 1) != 1) return;
    said_ += c;
    if (c == '\n') break;
  }
  if (said_.starts_with("serving on ")) {
    port_ = static_cast<std::uint16_t>(std::atoi(said_.c_str() + said_.rfind(':') + 1));
  }
}

void server_process::signal(int number) const noexcept {
  if (id_ > 0) ::kill(id_, number);
}

int server_process::wait() {
  int status = -1;
  bool const ended = id_ > 0 && wait_until([&] { return ::waitpid(id_, &status, WNOHANG) == id_; });
  if (!ended) return -1;
  id_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace thrum::test
