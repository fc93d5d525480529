// The command `thrum` as a process, on this process and others.
#include "debug_socket/socket_client.h"
#include "runs/in_child.h"
#include "support/child.h"
#include "support/run_at.h"
#include "support/wait_until.h"
#include "support/with_environment.h"
#include <thrum/process.h>
#include <thrum/thrum.h>
#include <thrum/trace.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include <gtest/gtest.h>

namespace thrum {
namespace {

bool contains(std::string const& text, std::string_view part) { return text.find(part) != std::string::npos; }

class thrum_command : public testing::Test {
 protected:
#ifdef THRUM_COMMAND
  void SetUp() override {
    if (test::emulated()) GTEST_SKIP() << "the command is not built for the emulated machine";
  }
  [[nodiscard]] static test::outcome run_command(std::string const& arguments) {
    return test::run_shell(std::string(THRUM_COMMAND) + ' ' + arguments + " 2>&1");
  }
#else
  void SetUp() override { GTEST_SKIP() << "the command is left out of this build"; }
  [[nodiscard]] static test::outcome run_command(std::string const&) { return {}; }
#endif
  // Runs the command on this process, which has some goroutines.
  [[nodiscard]] test::outcome run_on_this(std::string const& before, std::string const& after = "") const {
    test::outcome result;
    test::run_with({.max_procs = 2, .debug_socket = "default"}, [&] {
      chan<int> const never;
      for (int i = 0; i < 7; ++i) go([=] { static_cast<void>(never.recv()); });
      ASSERT_TRUE(test::wait_until([] { return read_stats().waiting == 7; }));
      result = blocking([&] { return run_command(before + ' ' + own_ + ' ' + after); });
      never.close();
    });
    return result;
  }

  test::socket_folder folder_;
  test::with_environment const own_folder_{"XDG_RUNTIME_DIR", folder_.path()};
  std::string const own_ = std::to_string(::getpid());
};

TEST_F(thrum_command, dump_prints_all_goroutines) {
  test::outcome const ran = run_on_this("dump");
  EXPECT_EQ(ran.code, 0) << ran.text;
  EXPECT_TRUE(contains(ran.text, " [waiting: chan receive]:\n")) << ran.text;
  EXPECT_TRUE(contains(ran.text, "created by goroutine 1\n")) << ran.text;
}

TEST_F(thrum_command, dump_prints_the_form_that_its_flags_ask_for) {
  EXPECT_TRUE(contains(run_on_this("dump --grouped").text, " @ 0x"));
  EXPECT_TRUE(contains(run_on_this("dump --leaks").text, "goroutines [chan receive"));
  EXPECT_TRUE(run_on_this("dump --grouped --json").text.starts_with("{"));
  EXPECT_NE(run_on_this("dump --grouped --leaks").code, 0);
}

TEST_F(thrum_command, stats_prints_figures_with_the_sums_of_all_ps) {
  test::outcome const ran = run_on_this("stats");
  EXPECT_EQ(ran.code, 0) << ran.text;
  std::istringstream words(ran.text);
  std::string name, value, waiting;
  for (; words >> name >> value;) {
    if (name == "goroutines.waiting") waiting = value;
  }
  EXPECT_EQ(waiting, "7") << ran.text;
  EXPECT_TRUE(contains(ran.text, "procs.parks ")) << ran.text;
  EXPECT_FALSE(contains(ran.text, "procs.0.")) << ran.text;
}

TEST_F(thrum_command, stats_prints_each_p_or_json) {
  EXPECT_TRUE(contains(run_on_this("stats", "--procs").text, "procs.1.status "));
  test::outcome const json = run_on_this("stats --json");
  EXPECT_TRUE(json.text.starts_with("{\n") && json.text.ends_with("}\n")) << json.text;
  EXPECT_TRUE(contains(json.text, "\"goroutines.waiting\": 7,\n")) << json.text;
}

TEST_F(thrum_command, stats_is_watched_until_the_process_ends) {
  test::outcome ran;
  std::thread watches;
  test::run_with({.max_procs = 2, .debug_socket = "default"}, [&] {
    watches = std::thread([&] { ran = run_command("stats " + own_ + " --watch 0.1 > " + folder_.path() + "/out"); });
    EXPECT_TRUE(test::wait_until([&] {
      sleep_for(std::chrono::milliseconds(1));
      std::ifstream file(folder_.path() + "/out");
      std::stringstream text;
      text << file.rdbuf();
      return contains(text.str(), " /s\n") && contains(text.str(), "procs.timers_run ");
    }));
  });
  watches.join();
  EXPECT_EQ(ran.code, 2);
}

TEST_F(thrum_command, top_shows_the_ps_and_the_goroutines_as_text) {
  test::outcome const ran = run_on_this("top --once --every 0.1");
  EXPECT_EQ(ran.code, 0) << ran.text;
  EXPECT_TRUE(ran.text.starts_with("thrum top - process " + own_ + " (test_debug_sock)")) << ran.text;
  EXPECT_TRUE(contains(ran.text, " 7 waiting; ")) << ran.text;
  EXPECT_TRUE(contains(ran.text, "        7 waiting   chan receive ")) << ran.text;
}

TEST_F(thrum_command, top_needs_a_terminal_unless_it_is_to_print_text) {
  test::outcome const ran = run_on_this("top");
  EXPECT_EQ(ran.code, 2);
  EXPECT_TRUE(contains(ran.text, "thrum: top ")) << ran.text;
  EXPECT_TRUE(contains(ran.text, "--once")) << ran.text;
}

TEST_F(thrum_command, trace_records_one_from_a_process) {
  std::string const file = folder_.path() + "/recorded";
  test::outcome const ran = run_on_this("trace", "-o " + file + " --seconds 1");
  EXPECT_EQ(ran.code, 0) << ran.text;
  test::outcome const checked = run_command("trace --check " + file);
  EXPECT_EQ(checked.code, 0) << checked.text;
}

#ifdef THRUM_COMMAND
TEST_F(thrum_command, a_trace_ends_when_the_command_is_killed) {
  test::run_with({.max_procs = 2, .debug_socket = "default"}, [&] {
    process command =
        process::start({THRUM_COMMAND, "trace", own_, "-o", folder_.path() + "/recorded", "--seconds", "3000"});
    EXPECT_TRUE(test::wait_until([] { return trace::is_on(); }));
    command.kill();
    static_cast<void>(command.wait());
    EXPECT_TRUE(test::wait_until([] { return !trace::is_on(); }));
  });
}
#endif

TEST_F(thrum_command, says_why_it_cannot_ask_a_process) {
  auto const refusal = [&](std::string const& target) {
    test::outcome const ran = run_command("dump " + target);
    EXPECT_EQ(ran.code, 2) << target;
    return ran.text;
  };
  EXPECT_EQ(refusal(own_), "thrum: process " + own_ +
                               " serves no debug socket. Start it with THRUM_DEBUG=socket=1 in its environment, or set "
                               "options::debug_socket = \"default\"\n");
  EXPECT_EQ(refusal("4194305"), "thrum: there is no process 4194305\n");
  EXPECT_EQ(refusal("nonsense"), "thrum: \"nonsense\" is neither a process id nor the path of a socket\n");
  EXPECT_EQ(refusal("-- -1"), "thrum: \"-1\" is neither a process id nor the path of a socket\n");
  EXPECT_TRUE(contains(refusal("/none/s"), "thrum: cannot connect to /none/s: "));
}

TEST_F(thrum_command, takes_no_socket_of_another_process_for_that_of_this_one) {
  // Another process has made a socket with the name of this one.
  std::filesystem::create_directory(folder_.path() + "/thrum");
  std::string const path = folder_.path() + "/thrum/" + own_ + ".sock";
  pid_t const child = fork_with_a_limit();
  if (child == 0) {
    run([] { sleep_for(std::chrono::minutes(1)); }, {.debug_socket = path});
    ::_exit(0);
  }
  EXPECT_TRUE(test::wait_until([&] { return run_command("dump " + path).code == 0; }));
  EXPECT_TRUE(contains(run_command("dump " + own_).text, "serves no debug socket"));
  ::kill(child, SIGKILL);
  static_cast<void>(exit_code_of(child));
}

TEST_F(thrum_command, has_a_version_and_help_with_examples) {
  test::outcome const version = run_command("--version");
  EXPECT_EQ(version.code, 0);
  EXPECT_TRUE(version.text.starts_with("thrum 0.")) << version.text;
  for (char const* const subcommand :
       {"", "dump", "stats", "top", "profile", "trace", "bench", "scenes", "play", "completion"}) {
    test::outcome const help = run_command(std::string(subcommand) + " --help");
    EXPECT_EQ(help.code, 0) << subcommand;
    EXPECT_TRUE(contains(help.text, "Examples:\n  thrum ")) << help.text;
  }
  EXPECT_EQ(run_command("").code, 2);
  EXPECT_EQ(run_command("nonsense").code, 2);
}

// --- completion ---

// What bash offers for a command line that ends with a word that is not complete.
std::string offered_by_bash(std::string const& script, std::string const& words, int count) {
  std::string const line = "source " + script + "; COMP_WORDS=(" + words + "); COMP_CWORD=" + std::to_string(count) +
                           "; _thrum; echo \"${COMPREPLY[@]}\"";
  return test::run_shell("bash -c '" + line + "' 2>&1").text;
}

TEST_F(thrum_command, completion_of_bash_knows_subcommands_options_and_processes) {
  std::string const script = folder_.path() + "/bash";
  ASSERT_EQ(run_command("completion bash > " + script).code, 0);
  EXPECT_EQ(offered_by_bash(script, "thrum st", 1), "stats\n");
  EXPECT_EQ(offered_by_bash(script, "thrum --v", 1), "--version\n");
  EXPECT_EQ(offered_by_bash(script, "thrum trace --sv", 2), "--svg\n");
  EXPECT_EQ(offered_by_bash(script, "thrum completion z", 2), "zsh\n");
  EXPECT_EQ(offered_by_bash(script, "thrum bench m", 2), "models\n");
  EXPECT_EQ(offered_by_bash(script, "thrum profile 1 --kind m", 4), "mutexes\n");
  EXPECT_EQ(offered_by_bash(script, "thrum pl", 1), "play\n");
  EXPECT_EQ(offered_by_bash(script, "thrum play file --o", 3), "--out\n");
  test::run_with({.debug_socket = "default"}, [&] {
    std::string const offered = blocking([&] { return offered_by_bash(script, "thrum dump " + own_, 2); });
    EXPECT_TRUE((' ' + offered).find(' ' + own_) != std::string::npos) << offered;
  });
}

TEST_F(thrum_command, completion_scripts_have_all_that_the_help_names) {
  for (char const* const shell : {"bash", "zsh", "fish"}) {
    std::string const script = run_command(std::string("completion ") + shell).text;
    for (char const* const subcommand :
         {"dump", "stats", "top", "profile", "trace", "bench", "scenes", "play", "completion"})
      EXPECT_TRUE(contains(script, subcommand)) << shell << ": " << subcommand;
    for (char const* const option : {"watch", "procs", "json", "perfetto", "seconds", "output", "version"})
      EXPECT_TRUE(contains(script, option)) << shell << ": " << option;
    if (test::run_shell(std::string("command -v ") + shell).code != 0) continue;  // the shell is not installed
    std::string const file = folder_.path() + '/' + shell;
    std::ofstream(file) << script;
    test::outcome const read = test::run_shell(std::string(shell) + " -n " + file + " 2>&1");
    EXPECT_EQ(read.code, 0) << read.text;
    EXPECT_EQ(read.text, "");
  }
  EXPECT_EQ(run_command("completion tcsh").code, 2);
}

}  // namespace
}  // namespace thrum
