// What a program that hangs writes before it is ended: the runtime reports what keeps a goroutine from continuing.
#pragma once

#include "support/slices.h"
#include <thrum/run.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

namespace thrum::test {

// Runs `body` in a child process with one P, as a goroutine beside others, until the child has ended or has written
// nothing for long. Returns what it wrote to standard error.
template <class F>
std::string words_of_child(F body) {
  with_slices_of const slices(std::chrono::milliseconds(10));
  int ends[2];
  if (::pipe(ends) != 0) return "no pipe";
  pid_t const child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], 2);
    ::close(ends[0]);
    ::close(ends[1]);
    ::alarm(20);  // it hangs, which is what it reports
    thrum::run(body, {.max_procs = 1});
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string text;
  char some[1000];
  for (long n = 0; (n = ::read(ends[0], some, sizeof some)) > 0;) {
    text.append(some, static_cast<std::size_t>(n));
    if (text.find("SIGQUIT") != std::string::npos) ::kill(child, SIGKILL);
  }
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  return text;
}

// Parks over and over. So the goroutine waits for its thread when another one blocks the thread, however late that is.
[[noreturn]] inline void park_for_ever() {
  for (;;) ::usleep(10'000);
}

}  // namespace thrum::test
