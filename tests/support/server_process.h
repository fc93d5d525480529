// A server that a test starts as a separate process: an example that prints "serving on ADDRESS:PORT" when it listens.
// The destructor kills it, whether the test has passed or not.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <sys/types.h>

namespace thrum::test {

class server_process {
 public:
  // Waits until the server listens. port() is 0 if it ended or did not listen in time.
  server_process(std::filesystem::path const& program, std::vector<std::string> arguments);
  server_process(server_process const&) = delete;
  server_process& operator=(server_process const&) = delete;
  ~server_process();

  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  [[nodiscard]] pid_t id() const noexcept { return id_; }
  void signal(int number) const noexcept;

  // Waits for its end and returns the exit code, or -1 if a signal ended it or it has not ended in time. In the latter
  // case the destructor kills it.
  int wait();
  [[nodiscard]] std::string const& said() const noexcept { return said_; }  // its output up to the end of that line

 private:
  void read_port();

  pid_t id_ = -1;
  int output_ = -1;
  std::uint16_t port_ = 0;
  std::string said_;
};

}  // namespace thrum::test
