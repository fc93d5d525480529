// Programs that a test starts: itself, or another program of the build.
//
// Under an emulator of user programs (qemu-user runs the other architecture's tests), the kernel cannot start such a
// program, because it does not know its format. So the program is started as the test itself was, through the emulator
// and with its options. GoogleTest starts the child processes of death tests with execv, so child.cpp replaces libc's
// execv.
#pragma once

#include <filesystem>
#include <string>

namespace thrum::test {

// Called by main before the first test, with main's argc.
void learn_how_to_start_children(int argc);

// True if an emulator interprets this program. What the kernel reports about the process (resident memory, threads) is
// then about the emulator. This is found out at run time from the kernel, so it is never true for a program that runs
// natively.
[[nodiscard]] bool emulated();

struct outcome {
  int code = -1;     // -1: it was not started, or a signal ended it
  std::string text;  // standard output and standard error
};

// Both in shell syntax: "--first --second", "NAME=value".
struct command_line {
  std::string arguments;
  std::string environment;
};
[[nodiscard]] outcome run_program(std::filesystem::path const& program, command_line const& given);

// Runs a command of the machine's shell.
[[nodiscard]] outcome run_shell(std::string const& command);

[[nodiscard]] std::filesystem::path this_program();

}  // namespace thrum::test
