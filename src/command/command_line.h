// The command line of `thrum`: its subcommands, their options, and what they do.
#pragma once

#include "command/models/command.h"
#include "command/play/command.h"
#include "command/scenes/command.h"
#include "command/target/command.h"
#include "command/top/command.h"
#include "command/trace/command.h"

#include <iosfwd>
#include <string>

#include <CLI/CLI.hpp>

namespace thrum::command {

class command_line {
 public:
  command_line();

  // Throws target_error if a process does not answer as it should.
  [[nodiscard]] int run(int argc, char** argv, std::ostream& out, std::ostream& errors);

 private:
  CLI::App& add(char const* name, char const* description, char const* examples);
  void add_dump();
  void add_stats();
  void add_top();
  void add_trace();
  void add_profile();
  void add_bench();
  void add_scenes();
  void add_play();
  void add_completion();
  [[nodiscard]] int run_chosen(std::ostream& out, std::ostream& errors);
  [[nodiscard]] int run_trace_or_record(std::ostream& out, std::ostream& errors);

  CLI::App app_;
  CLI::App const* dump_ = nullptr;
  CLI::App const* stats_ = nullptr;
  CLI::App const* top_ = nullptr;
  CLI::App const* trace_ = nullptr;
  CLI::App const* profile_ = nullptr;
  CLI::App const* bench_ = nullptr;
  CLI::App const* scenes_ = nullptr;
  CLI::App const* play_ = nullptr;
  CLI::App const* completion_ = nullptr;
  dump_options of_dump_;
  stats_options of_stats_;
  top_options of_top_;
  trace_options of_trace_;
  record_options of_record_;
  profile_options of_profile_;
  models_options of_bench_;
  recording_files of_scenes_;
  play_options of_play_;
  std::string shell_;
};

}  // namespace thrum::command
