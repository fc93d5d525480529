// SIGPIPE ends a program whose standard output or standard error has no reader, but not a server whose clients leave.
#include "support/fatal.h"
#include "support/sockets.h"
#include <thrum/thrum.h>

#include <csignal>
#include <cstdio>

#include <gtest/gtest.h>
#include <unistd.h>

namespace thrum {
namespace {

constexpr int lives = 7;

// Makes the program's own standard output, or another descriptor, a pipe without a reader.
void break_output(int descriptor = STDOUT_FILENO) {
  int ends[2]{};
  if (::pipe(ends) != 0) ::_exit(1);
  ::dup2(ends[1], descriptor);
  ::close(ends[0]);
  ::close(ends[1]);
  ::signal(SIGPIPE, SIG_DFL);
}

// Runs it as the main goroutine of a program of its own.
template <class F>
[[noreturn]] void with_broken_output(F program) {
  break_output();
  run(program);
  ::_exit(lives);
}

testing::KilledBySignal by_sigpipe() { return testing::KilledBySignal(SIGPIPE); }
testing::ExitedWithCode not_at_all() { return testing::ExitedWithCode(lives); }

void open_a_descriptor() { static_cast<void>(test::pipe_pair()); }

class broken_output : public test::fatal_test {};

TEST_F(broken_output, ends_a_program_that_prints_with_stdio) {
  EXPECT_EXIT(with_broken_output([] {
                open_a_descriptor();
                for (int i = 0; i < 1'000; ++i) {
                  std::puts("a line");
                  std::fflush(stdout);
                }
              }),
              by_sigpipe(), "");
}

TEST_F(broken_output, ends_a_program_that_prints_with_an_fd) {
  EXPECT_EXIT(with_broken_output([] {
                fd out(STDOUT_FILENO);
                std::error_code error;
                out.write_all("a line\n", error);
              }),
              by_sigpipe(), "");
}

TEST_F(broken_output, ends_a_program_whose_standard_error_has_no_reader) {
  EXPECT_EXIT(
      {
        break_output(STDERR_FILENO);
        run([] {
          open_a_descriptor();
          for (int i = 0; i < 1'000; ++i) std::fputs("a line\n", stderr);
        });
        ::_exit(lives);
      },
      by_sigpipe(), "");
}

void write_to_other_broken_descriptors() {
  std::error_code error;
  auto pipe = test::pipe_pair();
  pipe.a.close();
  pipe.b.write_all("x", error);
  if (error != std::errc::broken_pipe) ::_exit(1);
  const_buffer const parts[]{"x", "y"};
  pipe.b.write_all(parts, error);
  if (error != std::errc::broken_pipe) ::_exit(2);
  auto sockets = test::socket_pair();
  sockets.a.close();
  sockets.b.write_all("x", error);
  if (error != std::errc::broken_pipe) ::_exit(3);
}

TEST_F(broken_output, does_not_end_a_program_that_writes_to_another_pipe_or_socket) {
  EXPECT_EXIT(with_broken_output(write_to_other_broken_descriptors), not_at_all(), "");
}

void write_to_a_broken_pipe_without_thrum() {
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  open_a_descriptor();
  int ends[2]{};
  if (::pipe(ends) != 0) ::_exit(1);
  ::close(ends[0]);
  if (::write(ends[1], "x", 1) != -1) ::_exit(2);
}

TEST_F(broken_output, of_another_descriptor_is_an_error_code_while_the_standard_output_is_whole) {
  EXPECT_EXIT(with_broken_output(write_to_a_broken_pipe_without_thrum), not_at_all(), "");
}

TEST_F(broken_output, is_left_to_a_program_that_ignores_the_signal) {
  EXPECT_EXIT(with_broken_output([] {
                ::signal(SIGPIPE, SIG_IGN);
                open_a_descriptor();
                std::puts("a line");
                std::fflush(stdout);
              }),
              not_at_all(), "");
}

// As libraries do around what may raise it.
TEST_F(broken_output, ends_a_program_that_has_put_the_handler_back) {
  EXPECT_EXIT(with_broken_output([] {
                open_a_descriptor();
                auto* const before = ::signal(SIGPIPE, SIG_IGN);
                ::signal(SIGPIPE, before);
                std::puts("a line");
                std::fflush(stdout);
              }),
              by_sigpipe(), "");
}

}  // namespace
}  // namespace thrum
