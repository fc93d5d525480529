// Programs that a test starts: itself once more, or one that stands beside it.
//
// Under an emulator of user programs (qemu-user runs the other architecture's tests) the kernel cannot start them, it
// does not know their format: they are started as the test was, through the emulator and with its options. For
// GoogleTest, which starts the child processes of death tests by execv, child.cpp puts an execv of its own before libc's.
#pragma once

#include <filesystem>
#include <string>

namespace thrum::test {

// By main, with what it was given, before the first test.
void learn_how_to_start_children(int argc);

// Whether an emulator interprets this program: what the kernel says of the process (resident memory, threads) is then
// the emulator's. The kernel is asked, at run time: never true of a program that runs by itself.
[[nodiscard]] bool emulated();

struct outcome {
  int code = -1;     // -1: not started, or ended by a signal
  std::string text;  // standard output and standard error
};

// Both in the shell's words: "--first --second", "NAME=value".
struct command_line {
  std::string arguments;
  std::string environment;
};
[[nodiscard]] outcome run_program(std::filesystem::path const& program, command_line const& given);

// A program of the machine's, in the shell's words.
[[nodiscard]] outcome run_shell(std::string const& command);

[[nodiscard]] std::filesystem::path this_program();

}  // namespace thrum::test
