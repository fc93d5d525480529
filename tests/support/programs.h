// Programs that tests start with thrum::process.
#pragma once

#include <thrum/process.h>

#include <string>
#include <system_error>
#include <vector>

#include <signal.h>
#include <sys/wait.h>

namespace thrum::test {

inline std::vector<std::string> shell(std::string const& script) { return {"sh", "-c", script}; }

// A program that runs until it is killed. The destructor kills it.
class sleeper {
 public:
  sleeper() : it(process::start({"sleep", "60"})) {}
  ~sleeper() {
    std::error_code ignored;
    it.kill(SIGKILL, ignored);
  }
  sleeper(sleeper const&) = delete;
  sleeper& operator=(sleeper const&) = delete;

  process it;
};

enum class child_state : unsigned char { runs, ended, none_of_ours };

// The state of a child process. Does not collect it. A process of another program that has the id is none_of_ours.
inline child_state state_of(int id) {
  siginfo_t about{};
  if (::waitid(P_PID, static_cast<id_t>(id), &about, WEXITED | WNOHANG | WNOWAIT) != 0)
    return child_state::none_of_ours;
  return about.si_pid == 0 ? child_state::runs : child_state::ended;
}

}  // namespace thrum::test
