// The thread that has something to report writes the report itself. Another thread could not do it, because the parts
// that are needed for that may be what has failed, and other goroutines would run between the lines.
#include "posix/both_ways.h"

#include <stdexcept>
#include <string>

#include <pty.h>
#include <sys/syscall.h>
#include <sys/wait.h>

namespace thrum::test {
namespace {

[[noreturn]] void panic_beside_another(int terminal) {
  ::dup2(terminal, 2);
  thrum::run(
      [] {
        static std::atomic<bool> panics{false};
        go([] {
          while (!panics) thrum::yield();
          ::syscall(SYS_write, 2, "between\n", 8);
        });
        go([] {
          panics = true;
          throw std::runtime_error("on purpose");
        });
        wait_group never;
        never.add(1);
        never.wait();
      },
      {.max_procs = 1, .async_preemption = false});
  ::_exit(0);
}

TEST(posix_last_words, T01_a_panic_is_reported_without_waiting_for_a_terminal) {
  if (rt::with_tsan) GTEST_SKIP() << "TSan lets no child make threads";
  int master = -1;
  int slave = -1;
  ASSERT_EQ(::openpty(&master, &slave, nullptr, nullptr, nullptr), 0);
  both_ends ends{master, slave};
  pid_t const child = ::fork();
  if (child == 0) panic_beside_another(slave);
  ends.close_second();
  std::string text;
  char some[1000];
  for (long n = 0; (n = ::read(master, some, sizeof some)) > 0;) text.append(some, static_cast<std::size_t>(n));
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 2) << status;
  // Later on it looks up names in files, and is announced in that.
  EXPECT_NE(text.find("panic: on purpose\r\ngoroutine "), std::string::npos) << text;
}

}  // namespace
}  // namespace thrum::test
