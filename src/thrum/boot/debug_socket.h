// The debug socket of a run: options::debug_socket and THRUM_DEBUG=socket=1. Where its file is, and when it goes away.
//
// The file is removed at the end of the run, by exit(), and when the program ends with a report of thrum. A program
// that is killed leaves it behind. The next program that serves a debug socket in the same directory removes it.
#pragma once

#include "boot/run_gate.h"
#include "core/sched.h"
#include "debug/request_server.h"
#include <thrum/options.h>

#include <memory>
#include <string>

namespace thrum::rt {

class debug_socket {
 public:
  debug_socket() noexcept = default;
  ~debug_socket() { end(); }
  debug_socket(debug_socket const&) = delete;
  debug_socket& operator=(debug_socket const&) = delete;

  // Makes the socket if one is asked for. If the options ask for it and that fails, throws std::invalid_argument or
  // std::system_error. If the environment does, prints why, and there is none.
  void open(options const& chosen);
  // Begins to serve. Called when the run has its own threads.
  void serve(Sched& s);
  // Before the end of the run makes anything else unusable.
  void end() noexcept;
  // Leaves everything as it is, because the thread is not in this process, or the program ends by exit().
  void abandon() noexcept;

 private:
  void open_at(std::string const& path);

  int listener_ = -1;
  debug::request_server* server_ = nullptr;
  std::shared_ptr<run_gate> gate_;
};

// Where a socket of this process is if no path is given: docs/debug-socket.md.
[[nodiscard]] std::string default_socket_path();

// For a program that ends without the end of its run. May be called anywhere, also in a signal handler.
void remove_debug_socket_file() noexcept;

// In a child of fork, on its only thread.
void forget_debug_socket_of_parent() noexcept;

}  // namespace thrum::rt
