// Scripts that complete the command in a shell. They are made from the parser of the command line, so they know exactly
// what it knows.
#pragma once

#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

namespace thrum::command {

// `shell` is bash, zsh or fish.
[[nodiscard]] std::string completion_script(CLI::App const& app, std::string_view shell);

}  // namespace thrum::command
