#include "command/command_line.h"

#include "command/completion/completion.h"
#include "command/scenes/page.h"

#include <initializer_list>
#include <iostream>
#include <ostream>

namespace thrum::command {
namespace {

constexpr char const* target_help = "A process id, or the path of a debug socket";

constexpr char const* examples = R"(Examples:
  thrum dump 4711
  thrum stats 4711 --watch 1
  thrum top 4711
  thrum profile 4711 -o cpu.pprof
  thrum trace server.trace
  thrum scenes --out scenes.html
  thrum play pipeline.play

A program serves the debug socket that PID stands for if its environment has
THRUM_DEBUG=socket=1, or if it sets options::debug_socket.
`thrum SUBCOMMAND --help` has more.)";

constexpr char const* examples_of_dump = R"(Examples:
  thrum dump 4711                    all goroutines: state, stack, where they were created
  thrum dump 4711 | grep -A3 mutex   those that wait for a mutex
  thrum dump 4711 --leaks            the places where most have waited longest
  thrum dump 4711 --grouped --json   equal stacks together, for programs
  thrum dump /run/app/debug.sock     the path that options::debug_socket names)";

constexpr char const* examples_of_stats = R"(Examples:
  thrum stats 4711                   the figures since the run began
  thrum stats 4711 --watch 2         every two seconds, with what has grown per second
  thrum stats 4711 --procs           each P for itself
  thrum stats 4711 --json | jq '."goroutines.waiting"')";

constexpr char const* examples_of_top = R"(Examples:
  thrum top 4711                     Ps, rates, and goroutines by state and place
  thrum top 4711 --once              the same as text, for a report

Keys: s sorts, / searches, p hides the Ps, space holds, + and - change the
speed, arrows and page keys scroll, q ends.)";

constexpr char const* examples_of_trace = R"(Examples:
  thrum trace server.trace                        print a summary
  thrum trace server.trace --json | jq .latency   the same for programs
  thrum trace server.trace --perfetto out.pftrace open it with https://ui.perfetto.dev
  thrum trace server.trace --svg lanes.svg        a picture: what ran on which P, and when
  thrum trace server.trace --page trace.html      a page: what is in the queues, step by step
  thrum trace --check server.trace                whether the file keeps to its format: exit code 0 or 1
  thrum trace 4711 -o server.trace --seconds 10   have process 4711 record one)";

constexpr char const* examples_of_profile = R"(Examples:
  thrum profile 4711 -o cpu.pprof                       where goroutines compute, for 5 seconds
  go tool pprof -top cpu.pprof                          show it
  thrum profile 4711 --kind goroutines -o now.pprof     where all goroutines are at this moment
  thrum profile 4711 --kind blocks -o b.pprof --seconds 30
                                                        where they wait for each other
  thrum profile 4711 --kind mutexes -o m.pprof          who holds a lock for which others wait)";

constexpr char const* examples_of_bench = R"(Examples:
  thrum bench models                    the same jobs with a thread for each task, with
                                        all tasks on one thread, with one locked queue,
                                        and with thrum; it takes about a minute
  thrum bench models --svg models.svg   draw a picture, too
  thrum bench models --json | jq .models.with_ps)";

constexpr char const* examples_of_scenes = R"(Examples:
  thrum scenes                       play them, and write thrum-scenes.html
  thrum scenes --out /tmp/page.html  another file
  thrum scenes --json - | jq '.parts[].title.en')";

constexpr char const* examples_of_play = R"(Examples:
  thrum play pipeline.play                  run it, and write thrum-play.html
  thrum play pipeline.play --out page.html  another file
  thrum play pipeline.play --json - | jq '.parts[].steps | length'
  echo 'go main { go other; yield }; go other x0 { spin 1ms }' | thrum play -

A scenario says what goroutines do:
  procs 2
  channel orders
  go worker x3 { recv orders; spin 2ms }
  go main { repeat 3 { send orders } }

docs/playground.md describes the language. The exit code is 1 if the scenario
has not come to its end: a deadlock, a limit, or a mistake of a goroutine.)";

constexpr char const* examples_of_completion = R"(Examples:
  thrum completion bash > /etc/bash_completion.d/thrum
  thrum completion zsh  > "${fpath[1]}/_thrum"
  thrum completion fish > ~/.config/fish/completions/thrum.fish)";

}  // namespace

command_line::command_line() : app_("Looks into programs that use thrum, Go's G-M-P scheduler as a C++20 library") {
  app_.name("thrum");
  app_.set_version_flag("--version", "thrum " THRUM_VERSION, "Print the version and exit");
  app_.require_subcommand(1);
  app_.footer(examples);
  add_dump();
  add_stats();
  add_top();
  add_trace();
  add_profile();
  add_bench();
  add_scenes();
  add_play();
  add_completion();
}

CLI::App& command_line::add(char const* name, char const* description, char const* its_examples) {
  CLI::App& added = *app_.add_subcommand(name, description);
  added.footer(its_examples);
  return added;
}

void command_line::add_dump() {
  CLI::App& dump = add("dump", "Print all goroutines of a process, with their stacks", examples_of_dump);
  dump.add_option("PID", of_dump_.target, target_help)->required();
  dump.add_flag("--json", of_dump_.json, "Print them as JSON");
  CLI::Option* const grouped =
      dump.add_flag("--grouped", of_dump_.grouped, "Print equal stacks once, with their number");
  dump.add_flag("--leaks", of_dump_.leaks, "Print the places where goroutines have waited longest")->excludes(grouped);
  dump_ = &dump;
}

void command_line::add_stats() {
  CLI::App& stats = add("stats", "Print figures of the scheduler of a process", examples_of_stats);
  stats.add_option("PID", of_stats_.target, target_help)->required();
  stats.add_option("--watch", of_stats_.watch_seconds, "Print them again and again, with what has grown per second")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.1, 86400.0));
  stats.add_flag("--procs", of_stats_.procs, "Print the figures of each P, not their sums");
  stats.add_flag("--json", of_stats_.json, "Print them as JSON");
  stats_ = &stats;
}

void command_line::add_top() {
  CLI::App& top = add("top", "Watch the Ps, the rates and the goroutines of a process", examples_of_top);
  top.add_option("PID", of_top_.target, target_help)->required();
  top.add_option("--every", of_top_.seconds, "How long to wait between two looks")
      ->type_name("SECONDS")
      ->capture_default_str()
      ->check(CLI::Range(0.1, 60.0));
  top.add_flag("--once", of_top_.once, "Print one look as text, and end");
  top_ = &top;
}

void command_line::add_trace() {
  CLI::App& trace = add("trace", "Read a trace file, or have a process record one", examples_of_trace);
  trace.add_option("FILE", of_trace_.file, "The trace file; with -o a process id, or the path of a debug socket")
      ->required();
  auto* const json = trace.add_flag("--json", of_trace_.json, "Print the summary as JSON");
  auto* const perfetto =
      trace.add_option("--perfetto", of_trace_.perfetto, "Write the trace in the format of Perfetto")->type_name("OUT");
  auto* const svg = trace.add_option("--svg", of_trace_.svg, "Draw a lane for each P")->type_name("OUT");
  auto* const page = trace.add_option("--page", of_trace_.page, "Write a page that plays the beginning of the trace")
                         ->type_name("OUT");
  auto* const recording =
      trace.add_option("--recording", of_trace_.recording, "Write what that page plays, as JSON")->type_name("OUT");
  of_trace_.page_with = page_with;
  auto* const top = trace.add_option("--top", of_trace_.rows, "How many rows the lists have")
                        ->capture_default_str()
                        ->check(CLI::Range(1, 1000));
  auto* const check =
      trace.add_flag("--check", of_trace_.check, "Only check the file strictly, and list what is wrong")
          ->excludes(json)
          ->excludes(perfetto)
          ->excludes(svg)
          ->excludes(recording)
          ->excludes(page);
  auto* const output = trace.add_option("-o,--output", of_record_.file, "Record a trace of the process into this file")
                           ->type_name("OUT");
  for (auto* const of_reading : {json, perfetto, svg, recording, page, top, check}) output->excludes(of_reading);
  trace.add_option("--seconds", of_record_.seconds, "For how long to record")
      ->capture_default_str()
      ->check(CLI::Range(1, 3600))
      ->needs(output);
  trace_ = &trace;
}

void command_line::add_profile() {
  CLI::App& profile = add("profile", "Take a profile of a process, for go tool pprof", examples_of_profile);
  profile.add_option("PID", of_profile_.target, target_help)->required();
  profile.add_option("--kind", of_profile_.kind, "Which profile: cpu, goroutines, blocks or mutexes")
      ->type_name("KIND")
      ->capture_default_str()
      ->check(CLI::IsMember({"cpu", "goroutines", "blocks", "mutexes"})
                  .description(""));  // the shells' completion knows KIND
  profile.add_option("-o,--output", of_profile_.file, "The file to write")->type_name("OUT")->required();
  profile.add_option("--seconds", of_profile_.seconds, "For how long to take it; goroutines need no time")
      ->capture_default_str()
      ->check(CLI::Range(1, 3600));
  profile_ = &profile;
}

void command_line::add_bench() {
  CLI::App& bench = add("bench", "Measure why goroutines run on Ps, and not in simpler models", examples_of_bench);
  bench.add_option("WHAT", of_bench_.what, "models: the models of concurrency, side by side")
      ->required()
      ->check(CLI::IsMember({"models"}));
  bench.add_flag("--json", of_bench_.json, "Print the figures as JSON");
  bench.add_option("--svg", of_bench_.svg, "Draw them")->type_name("OUT");
  bench.add_flag("--short", of_bench_.is_short, "Only try it: small jobs, once each");
  bench_ = &bench;
}

void command_line::add_scenes() {
  CLI::App& scenes =
      add("scenes", "Play eleven scenes on the scheduler, and write a page that shows them", examples_of_scenes);
  scenes.add_option("--out", of_scenes_.page, "The page; thrum-scenes.html if neither option is given")
      ->type_name("OUT");
  scenes.add_option("--json", of_scenes_.json, "The recording alone; - writes it to standard output")->type_name("OUT");
  scenes_ = &scenes;
}

void command_line::add_play() {
  CLI::App& play =
      add("play", "Run a scenario of your own on the scheduler, and write a page that shows it", examples_of_play);
  play.add_option("FILE", of_play_.file, "The scenario; - reads it from standard input")->required();
  play.add_option("--out", of_play_.written.page, "The page; thrum-play.html if neither option is given")
      ->type_name("OUT");
  play.add_option("--json", of_play_.written.json, "The recording alone; - writes it to standard output")
      ->type_name("OUT");
  play_ = &play;
}

void command_line::add_completion() {
  CLI::App& completion =
      add("completion", "Print a script that completes this command in a shell", examples_of_completion);
  completion.add_option("SHELL", shell_, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  completion_ = &completion;
}

int command_line::run(int argc, char** argv, std::ostream& out, std::ostream& errors) {
  try {
    app_.parse(argc, argv);
  } catch (CLI::ParseError const& error) {
    // The codes of CLI11 are larger. A mistake in the command line is reported as one that prevents all work.
    return app_.exit(error, out, errors) == 0 ? fine : cannot_work;
  }
  return run_chosen(out, errors);
}

int command_line::run_trace_or_record(std::ostream& out, std::ostream& errors) {
  if (of_record_.file.empty()) return run_trace(of_trace_, out, errors);
  of_record_.target = of_trace_.file;
  return run_record(of_record_, out);
}

int command_line::run_chosen(std::ostream& out, std::ostream& errors) {
  if (dump_->parsed()) return run_dump(of_dump_, out);
  if (stats_->parsed()) return run_stats(of_stats_, out);
  if (top_->parsed()) return run_top(of_top_, out);
  if (trace_->parsed()) return run_trace_or_record(out, errors);
  if (profile_->parsed()) return run_profile(of_profile_, out);
  if (bench_->parsed()) return run_models(of_bench_, out, errors);
  if (scenes_->parsed()) return run_scenes(of_scenes_, out, errors);
  if (play_->parsed()) return run_play(of_play_, std::cin, out, errors);
  if (completion_->parsed()) {
    out << completion_script(app_, shell_) << std::flush;
    return out ? fine : cannot_work;
  }
  return cannot_work;
}

}  // namespace thrum::command
