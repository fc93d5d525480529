// A server that a test starts as a program of its own: an example that says "serving on ADDRESS:PORT" when it listens. It is killed
// with the object, whatever became of the test.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <sys/types.h>

namespace thrum::test {

class server_process {
 public:
  // Waits until it listens; port() is 0 if it ended instead.
  server_process(std::filesystem::path const& program, std::vector<std::string> arguments);
  server_process(server_process const&) = delete;
  server_process& operator=(server_process const&) = delete;
  ~server_process();

  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  [[nodiscard]] pid_t id() const noexcept { return id_; }
  void signal(int number) const noexcept;

  // Waits for its end: the exit code; -1 if a signal ended it, or it had not ended in time and was killed.
  int wait();
  [[nodiscard]] std::string const& said() const noexcept { return said_; }  // up to and with the line above

 private:
  void read_port();

  pid_t id_ = -1;
  int output_ = -1;
  std::uint16_t port_ = 0;
  std::string said_;
};

}  // namespace thrum::test
