// Reports of sysmon's own thread (sys/without_p.h) do not wait for a reader of stderr that does not read.
#include "base/check.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace thrum::test {
namespace {

TEST(full_stderr, that_nobody_reads_is_told_from_one_that_takes_a_report) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_NONBLOCK), 0);
  int const before = ::dup(STDERR_FILENO);
  ASSERT_EQ(::dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
  bool const waits_if_empty = rt::stderr_would_wait();
  char const page[4096] = {};
  while (::write(ends[1], page, sizeof page) > 0) {
  }
  bool const waits_if_full = rt::stderr_would_wait();
  ::close(ends[0]);
  bool const waits_without_reader = rt::stderr_would_wait();
  ASSERT_EQ(::dup2(before, STDERR_FILENO), STDERR_FILENO);
  ::close(before);
  ::close(ends[1]);
  EXPECT_FALSE(waits_if_empty);
  EXPECT_TRUE(waits_if_full);
  EXPECT_FALSE(waits_without_reader) << "the write fails";
}

}  // namespace
}  // namespace thrum::test
