// Standard error as a pipe, which a test reads when it wants to, and a shorter limit for writes that no process reads.
#pragma once

#include "base/standard_error.h"
#include <thrum/thrum.h>

#include <chrono>
#include <cstddef>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace thrum::test {

// Standard error is a pipe while this object lives.
class piped_stderr {
 public:
  piped_stderr() {
    EXPECT_EQ(::pipe2(ends_, O_NONBLOCK), 0);
    EXPECT_EQ(::dup2(ends_[1], STDERR_FILENO), STDERR_FILENO);
  }
  ~piped_stderr() {
    EXPECT_EQ(::dup2(before_, STDERR_FILENO), STDERR_FILENO);
    ::close(before_);
    ::close(ends_[1]);
    close_reader();
  }
  piped_stderr(piped_stderr const&) = delete;
  piped_stderr& operator=(piped_stderr const&) = delete;

  void fill() const {
    char const page[4096] = {};
    while (::write(ends_[1], page, sizeof page) > 0) {
    }
  }
  void write_blocks() const { ::fcntl(ends_[1], F_SETFL, 0); }
  std::size_t read_some() const {
    char some[4096];
    ssize_t const n = ::read(ends_[0], some, sizeof some);
    return n > 0 ? static_cast<std::size_t>(n) : 0;
  }
  std::string read_all() const {
    std::string all;
    char some[4096];
    for (ssize_t n = 0; (n = ::read(ends_[0], some, sizeof some)) > 0;) all.append(some, static_cast<std::size_t>(n));
    return all;
  }
  void close_reader() {
    if (ends_[0] >= 0) ::close(ends_[0]);
    ends_[0] = -1;
  }

 private:
  int const before_ = ::dup(STDERR_FILENO);
  int ends_[2] = {-1, -1};
};

// How long a write to standard error waits for a reader, and the limit while an object of the class lives.
constexpr auto patience = std::chrono::milliseconds(50);

class short_patience {
 public:
  explicit short_patience(std::chrono::nanoseconds limit = patience) { rt::set_stderr_patience(limit.count()); }
  ~short_patience() { rt::set_stderr_patience(std::chrono::nanoseconds(std::chrono::seconds(10)).count()); }
  short_patience(short_patience const&) = delete;
  short_patience& operator=(short_patience const&) = delete;
};

}  // namespace thrum::test
