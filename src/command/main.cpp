// The command `thrum`: the parsing of its command line. Each subcommand has a folder.
#include "command/trace/command.h"

#include <exception>
#include <iostream>
#include <string>

#include <CLI/CLI.hpp>

namespace thrum::command {
namespace {

constexpr char const* examples_of_trace = R"(Examples:
  thrum trace server.trace                        print a summary
  thrum trace server.trace --json | jq .latency   the same for programs
  thrum trace server.trace --perfetto out.pftrace open it with https://ui.perfetto.dev
  thrum trace server.trace --svg lanes.svg        a picture: what ran on which P, and when
  thrum trace --check server.trace                whether the file keeps to its format: exit code 0 or 1)";

CLI::App& add_trace(CLI::App& to, trace_options& options) {
  CLI::App& trace = *to.add_subcommand("trace", "Read a trace file that a program with thrum has written");
  trace.add_option("FILE", options.file, "The trace file")->required();
  auto* const json = trace.add_flag("--json", options.json, "Print the summary as JSON");
  auto* const perfetto = trace.add_option("--perfetto", options.perfetto, "Write the trace in the format of Perfetto");
  auto* const svg = trace.add_option("--svg", options.svg, "Draw a lane for each P");
  perfetto->type_name("OUT");
  svg->type_name("OUT");
  trace.add_option("--top", options.rows, "How many rows the lists have")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  trace.add_flag("--check", options.check, "Only check the file strictly, and list what is wrong")
      ->excludes(json)
      ->excludes(perfetto)
      ->excludes(svg);
  trace.footer(examples_of_trace);
  return trace;
}

int run(int argc, char** argv) {
  CLI::App app("Looks into programs that use thrum, Go's G-M-P scheduler as a C++20 library");
  app.name("thrum");
  app.set_version_flag("--version", "thrum " THRUM_VERSION);
  app.require_subcommand(1);
  app.footer("Example:\n  thrum trace server.trace\n\n`thrum trace --help` has more.");
  trace_options options;
  CLI::App const& trace = add_trace(app, options);
  try {
    app.parse(argc, argv);
  } catch (CLI::ParseError const& error) {
    // The codes of CLI11 are larger. A mistake in the command line is reported as one that prevents all work.
    return app.exit(error) == 0 ? fine : cannot_work;
  }
  return trace.parsed() ? run_trace(options, std::cout, std::cerr) : cannot_work;
}

}  // namespace
}  // namespace thrum::command

int main(int argc, char** argv) {
  try {
    return thrum::command::run(argc, argv);
  } catch (std::exception const& failure) {
    std::cerr << "thrum: " << failure.what() << "\n";
    return thrum::command::cannot_work;
  }
}
