// A system call that sleeps in the kernel until the test ends it with open().
#pragma once

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace thrum::test {

class gate {
 public:
  gate() { EXPECT_EQ(::pipe(ends_), 0); }
  ~gate() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  gate(gate const&) = delete;
  gate& operator=(gate const&) = delete;

  void wait() const {
    char byte = 0;
    EXPECT_EQ(::read(ends_[0], &byte, 1), 1);
  }
  // The same with syscall(), which makes no stack frame and, on aarch64, does not save its return address.
  void wait_by_number() const {
    char byte = 0;
    EXPECT_EQ(::syscall(SYS_read, ends_[0], &byte, 1), 1);
  }
  // A call that returns at once.
  void read_nothing() const {
    char nowhere = 0;
    EXPECT_EQ(::read(ends_[0], &nowhere, 0), 0);
  }
  [[nodiscard]] int reading_end() const { return ends_[0]; }
  void open() const { EXPECT_EQ(::write(ends_[1], "x", 1), 1); }

 private:
  int ends_[2]{};
};

}  // namespace thrum::test
