// The command `thrum`. Each subcommand has a folder.
#include "command/command_line.h"

#include <exception>
#include <iostream>

int main(int argc, char** argv) {
  try {
    return thrum::command::command_line().run(argc, argv, std::cout, std::cerr);
  } catch (std::exception const& failure) {
    std::cerr << "thrum: " << failure.what() << "\n";
    return thrum::command::cannot_work;
  }
}
