// How goroutines and places are called in what the command prints. Each name is made once, and stays where it is.
#pragma once

#include "command/trace/history.h"
#include "command/trace/trace_file.h"

#include <cstdint>
#include <string>
#include <unordered_map>

namespace thrum::command {

class names {
 public:
  names(trace_file const& file, history const& past) : file_(file), past_(past) {}

  // The place where goroutines were created: "serve (server.cpp:40)".
  [[nodiscard]] std::string const& of_creation(goroutine_life const& goroutine);
  // A place in the code: "serve (server.cpp:40)". It is empty if the site is 0.
  [[nodiscard]] std::string const& of_site(std::uint64_t site);
  // The name that set_name gave, or the function in which it was created.
  [[nodiscard]] std::string of_goroutine(goroutine_life const& goroutine);
  // The place where a waker was created. The number 0 is the scheduler itself or a thread from outside.
  [[nodiscard]] std::string const& of_waker(std::uint64_t number);

 private:
  trace_file const& file_;
  history const& past_;
  std::unordered_map<std::uint64_t, std::string> of_sites_;
};

}  // namespace thrum::command
