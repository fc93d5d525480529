// Children of fork: how they end, and what they see of the runtime.
#pragma once

#include "support/goroutines.h"
#include <thrum/thrum.h>

#include <cerrno>
#include <stdexcept>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace thrum {

inline constexpr int as_expected = 7;

// 0 in the child, which must not outlive the test.
inline pid_t fork_with_a_limit() {
  pid_t const child = ::fork();
  if (child == 0) ::alarm(60);
  return child;
}

inline int exit_code_of(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -status;
}

template <class F>
int in_child(F f) {
  pid_t const child = fork_with_a_limit();
  if (child == 0) ::_exit(f());
  return exit_code_of(child);
}

template <class F>
bool says_that_it_is_a_fork(F f) {
  try {
    f();
  } catch (std::logic_error const& e) {
    return std::string(e.what()).find("this process was forked inside run()") != std::string::npos;
  }
  return false;
}

// A code of its own for each, so that a failure tells which.
inline int look_at_everything() {
  if (!says_that_it_is_a_fork([] { go([] {}); })) return 20;
  if (!says_that_it_is_a_fork([] { static_cast<void>(chan<int>().recv()); })) return 21;
  if (!says_that_it_is_a_fork([] { static_cast<void>(chan<int>(1).try_send(1)); })) return 22;
  if (!says_that_it_is_a_fork([] { select(on_recv(chan<int>(), [](auto) {})); })) return 23;
  if (!says_that_it_is_a_fork([] { run([] {}); })) return 24;
  if (!says_that_it_is_a_fork([] { runtime const embedded; })) return 25;
  if (!says_that_it_is_a_fork([] { yield(); })) return 26;
  return as_expected;
}

// Called by main. Forks from it, from another goroutine and from a foreign thread.
inline void fork_from_everywhere() {
  EXPECT_EQ(in_child(look_at_everything), as_expected) << "main";
  EXPECT_EQ(blocking([] { return in_child(look_at_everything); }), as_expected) << "inside a call";
  test::leave_m0();
  EXPECT_EQ(in_child(look_at_everything), as_expected) << "main, on another thread";
  int code = 0;
  wait_group all;
  all.go([&] { code = in_child(look_at_everything); });
  all.wait();
  EXPECT_EQ(code, as_expected) << "another goroutine";
  blocking([&] {
    std::thread([&] {
      go([] {});
      code = in_child(look_at_everything);
    }).join();
  });
  EXPECT_EQ(code, as_expected) << "a thread from outside";
  EXPECT_EQ(spawn([] { return 5; }).join(), 5) << "the parent goes on";
}

}  // namespace thrum
