// A connection to the debug socket of a process that uses thrum: docs/debug-socket.md.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace thrum::command {

// What went wrong, for the user.
struct target_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Where the socket of a process may be, the most likely place first.
[[nodiscard]] std::vector<std::string> places_of_socket(int pid);

class connection {
 public:
  // A process id, or the path of a socket, which has a slash. Throws target_error.
  explicit connection(std::string const& target);
  ~connection();
  connection(connection const&) = delete;
  connection& operator=(connection const&) = delete;

  // Returns the text of the answer. Throws target_error if the answer is an error, or does not come within `seconds`.
  // `descriptor`, if it is not negative, goes with the request.
  [[nodiscard]] std::string ask(std::string_view request, int seconds, int descriptor = -1);

 private:
  void send(std::string_view line, int descriptor) const;
  // Returns what comes up to and without `end_of_line`, or exactly `bytes`.
  [[nodiscard]] std::string receive_line();
  [[nodiscard]] std::string receive_bytes(std::size_t bytes);
  void receive_more();
  void limit_time(int seconds) const;

  std::string const name_;  // for messages
  int fd_ = -1;
  std::string received_;
};

}  // namespace thrum::command
