// The emulator is detected by a file that it does not fake. It answers a read of /proc/self/exe with the program that
// it interprets. But /proc/thread-self/exe, which is the same file to the kernel, names the emulator. In the same way
// /proc/thread-self/cmdline has the emulator's own command line, which ends with the program's.
#include "support/child.h"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

namespace thrum::test {
namespace {

// The emulator with its options. Empty if there is none.
std::vector<std::string> emulator;

std::string quoted(std::string const& word) { return "'" + word + "'"; }

// Does not allocate, because the heap may be locked between fork and exec.
int exec_through_emulator(char* const* argv) {
  constexpr std::size_t words_max = 128;
  std::array<char*, words_max + 1> words{};
  std::size_t count = 0;
  for (std::string& word : emulator) words.at(count++) = word.data();
  for (; *argv != nullptr && count < words_max; ++argv) words.at(count++) = *argv;
  if (*argv != nullptr) {
    errno = E2BIG;
    return -1;
  }
  return ::execvp(words.front(), words.data());
}

}  // namespace

void learn_how_to_start_children(int argc) {
  std::error_code no_such_file;
  auto const interpreter = std::filesystem::read_symlink("/proc/thread-self/exe", no_such_file);
  if (no_such_file || interpreter == this_program()) return;
  std::ifstream cmdline("/proc/thread-self/cmdline");
  for (std::string word; std::getline(cmdline, word, '\0');) emulator.push_back(word);
  // Removes the program's own arguments. The emulator and its options are left.
  emulator.resize(emulator.size() - static_cast<std::size_t>(argc));
}

bool emulated() { return !emulator.empty(); }

std::filesystem::path this_program() { return std::filesystem::read_symlink("/proc/self/exe"); }

outcome run_program(std::filesystem::path const& program, command_line const& given) {
  std::string command = given.environment + " ";
  for (std::string const& word : emulator) command += quoted(word) + " ";
  return run_shell(command + quoted(program.string()) + " " + given.arguments);
}

outcome run_shell(std::string const& command) {
  outcome seen;
  std::FILE* const pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return seen;
  std::array<char, 1024> part{};
  while (std::size_t const got = std::fread(part.data(), 1, part.size(), pipe)) seen.text.append(part.data(), got);
  int const status = ::pclose(pipe);
  if (WIFEXITED(status)) seen.code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) seen.text += "\n(ended by signal " + std::to_string(WTERMSIG(status)) + ")";
  return seen;
}

}  // namespace thrum::test

extern "C" int execv(char const* path, char* const* argv) noexcept {
  if (thrum::test::emulated()) return thrum::test::exec_through_emulator(argv);
  return ::execve(path, argv, environ);
}
