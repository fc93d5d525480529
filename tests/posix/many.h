// Runs a program that was written for threads many times at once: on threads without a scheduler, and on goroutines.
// Each returns the answers that it got, and the answers must be the same on goroutines.
//
//   told_alike(procs, 20, [&](int i) {
//     ... calls into the library ...
//     return std::string of all answers;
//   });
#pragma once

#include "support/run_at.h"
#include <thrum/thrum.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

namespace thrum::test {

template <class Body>
std::vector<std::string> on_threads(int count, Body const& body) {
  std::vector<std::string> told(static_cast<std::size_t>(count));
  std::vector<std::thread> all;
  for (int i = 0; i < count; ++i) {
    all.emplace_back([&, i] { told[static_cast<std::size_t>(i)] = body(i); });
  }
  for (std::thread& each : all) each.join();
  return told;
}

// Inside run().
template <class Body>
std::vector<std::string> on_goroutines(int count, Body const& body) {
  std::vector<std::string> told(static_cast<std::size_t>(count));
  wait_group all;
  for (int i = 0; i < count; ++i) {
    all.go([&, i] { told[static_cast<std::size_t>(i)] = body(i); });
  }
  all.wait();
  return told;
}

inline void expect_alike(std::vector<std::string> const& goroutines, std::vector<std::string> const& threads) {
  ASSERT_EQ(goroutines.size(), threads.size());
  for (std::size_t i = 0; i < threads.size(); ++i) {
    EXPECT_FALSE(threads[i].empty());
    EXPECT_EQ(goroutines[i], threads[i]) << "number " << i;
  }
}

template <class Body>
void told_alike(int procs, int count, Body const& body) {
  std::vector<std::string> const threads = on_threads(count, body);
  std::vector<std::string> goroutines;
  run_at(procs, [&] { goroutines = on_goroutines(count, body); });
  expect_alike(goroutines, threads);
}

// Raises the limit of descriptors, because the default of many systems does not allow one for each of a thousand
// goroutines. It also makes the kernel's table of descriptors large enough at once. Whenever the table grows, by
// doubling, all threads that open a descriptor sleep for some milliseconds, and a thread is made for each goroutine
// that comes to that.
inline void allow_all_descriptors() {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  auto const high = static_cast<int>(std::min<rlim_t>(files.rlim_cur, 4096)) - 1;
  if (int const last = ::fcntl(STDERR_FILENO, F_DUPFD, high); last >= 0) ::close(last);
}

}  // namespace thrum::test
