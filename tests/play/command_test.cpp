// The command `thrum play`: what it writes, and how it ends. The scenarios of examples/play are run.
#include "command/play/command.h"

#include "base/platform.h"
#include "command/play/parse.h"
#include "command/play/record.h"
#include "support/wait_until.h"
#include "support/watchdog.h"
#include "support/with_environment.h"
#include "trace/json_reader.h"

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace thrum;
using test::json_reader;

std::string const sources = THRUM_SOURCE_DIR;

std::string contents(std::string const& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool contains(std::string const& text, std::string const& part) { return text.find(part) != std::string::npos; }

class play_command : public testing::Test {
 protected:
  play_command() {
    test::start_watchdog();
    std::string name = (std::filesystem::temp_directory_path() / "thrum_play_test_XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~play_command() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path(char const* name) const { return folder_ + "/" + name; }
  std::string write(char const* name, std::string const& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }
  int run(command::play_options const& options, std::string const& input = "") {
    std::istringstream in(input);
    std::ostringstream out, errors;
    int const code = command::run_play(options, in, out, errors);
    out_ = out.str();
    errors_ = errors.str();
    return code;
  }

  std::string folder_, out_, errors_;
};

TEST_F(play_command, the_page_has_the_recording_which_has_the_scenario) {
  std::string const file = write("a.play", "procs 2\nchannel c\ngo a { recv c }\ngo b { send c } # <b>\n");
  ASSERT_EQ(run({.file = file, .written = {.page = path("a.html"), .json = path("a.json")}}), 0) << errors_;
  EXPECT_EQ(errors_, "");
  EXPECT_EQ(out_, "The scenario is in " + path("a.html") + "; open it in a browser.\n");
  std::string const json = contents(path("a.json"));
  json_reader const read(json);
  EXPECT_EQ(read.at("format"), "thrum-recording");
  EXPECT_EQ(read.at("kind"), "play");
  EXPECT_EQ(read.at("parts.0.procs"), "2");
  EXPECT_EQ(read.at("parts.0.queue_size"), "4");
  EXPECT_EQ(read.at("title.en"), "a.play");
  EXPECT_EQ(read.at("parts.0.program.file"), "a.play");
  EXPECT_EQ(read.at("parts.0.program.lines.3"), "go b { send c } # <b>");
  EXPECT_EQ(read.at("parts.0.story.en"), "All goroutines have ended.");
  EXPECT_TRUE(contains(json, R"x("line":3,"stack":["recv c (a.play:3)"])x")) << "the goroutine says where it is";
  EXPECT_TRUE(contains(json, R"(begins line 4: send c)"));
  std::string const page = contents(path("a.html"));
  EXPECT_TRUE(contains(page, "go b { send c } # \\u003cb>"));
}

TEST_F(play_command, goroutines_wait_at_the_channel_or_the_mutex_that_they_name) {
  ASSERT_EQ(run({.file = "-", .written = {.json = "-"}},
                "channel tea; mutex door; go a { lock door { recv tea } }; go b { sleep 1ms; lock door { } }"),
            1);
  EXPECT_TRUE(contains(out_, R"("id":"channel tea","kind":"chan","label":"channel tea","gs":[2])")) << out_;
  EXPECT_TRUE(contains(out_, R"("id":"mutex door","kind":"mutex","label":"mutex door","gs":[3])"));
}

TEST_F(play_command, a_deadlock_is_told_on_the_terminal_and_in_the_last_step_and_the_code_is_one) {
  ASSERT_EQ(
      run({.file = "-", .written = {.page = path("d.html"), .json = path("d.json")}}, "channel c\ngo a x30 { recv c }"),
      1);
  EXPECT_TRUE(contains(errors_,
                       "thrum play: (standard input): deadlock: no goroutine that is left can ever run again\n"
                       "  G2 a, line 2: recv c\n"))
      << errors_;
  EXPECT_TRUE(contains(errors_, "  and 10 more\n"));
  std::string const json = contents(path("d.json"));
  EXPECT_TRUE(contains(json, "deadlock: no goroutine that is left can ever run again. Still there: G2 a, line 2"));
  EXPECT_EQ(json_reader(json).at("parts.0.story.en"), "deadlock: no goroutine that is left can ever run again.");
  EXPECT_TRUE(std::filesystem::exists(path("d.html")));
}

TEST_F(play_command, the_watcher_of_the_run_is_not_in_the_recording) {
  command::played const done = command::play_and_record(command::parse_scenario("channel c; go a { recv c }"), "file");
  EXPECT_EQ(done.how.how, command::ending::deadlock);
  EXPECT_FALSE(contains(done.shown.json, R"("label":"G3")")) << "a goroutine for the thread that watches";
}

TEST_F(play_command, a_mistake_in_the_scenario_is_told_with_file_line_and_column) {
  std::string const file = write("bad.play", "go a {\n  spin 5\n}\n");
  EXPECT_EQ(run({.file = file, .written = {.page = path("bad.html")}}), 2);
  EXPECT_EQ(errors_, "thrum play: " + file +
                         ":2:8: expected a duration, found \"5\"; write a whole number and ns, us, "
                         "ms or s without a blank between them, such as 5ms\n");
  EXPECT_FALSE(std::filesystem::exists(path("bad.html")));
}

TEST_F(play_command, files_that_cannot_be_read_or_written_are_named) {
  EXPECT_EQ(run({.file = path("none.play")}), 2);
  EXPECT_EQ(errors_, "thrum play: " + path("none.play") + ": No such file or directory\n");
  EXPECT_EQ(run({.file = folder_}), 2);
  EXPECT_EQ(errors_, "thrum play: " + folder_ + ": Is a directory\n");
  EXPECT_EQ(run({.file = "-", .written = {.page = "/nowhere/page.html"}}, "go a { }"), 2);
  EXPECT_EQ(errors_, "thrum play: cannot write /nowhere/page.html: No such file or directory\n");
  EXPECT_EQ(run({.file = write("long.play", std::string(1 << 20, 'x'))}), 2);
  EXPECT_EQ(errors_, "thrum play: " + path("long.play") +
                         ":1:1: expected a scenario of at most 65536 bytes, found more; make it shorter\n");
}

TEST_F(play_command, a_trace_of_the_environment_is_in_the_way) {
  test::with_environment const traced("THRUM_TRACE", path("other.trace"));
  EXPECT_EQ(run({.file = "-", .written = {.json = "-"}}, "go a { }"), 2);
  EXPECT_EQ(errors_, "thrum play: another trace is being written; unset THRUM_TRACE\n");
}

// The links to the files that a process has open.
bool has_open_file_in(pid_t process, std::string const& folder) {
  std::error_code gone;  // a file may be closed while this looks
  for (auto const& each : std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/fd", gone)) {
    if (std::filesystem::read_symlink(each.path(), gone).string().starts_with(folder + '/')) return true;
  }
  return false;
}

TEST_F(play_command, an_interrupted_one_leaves_no_file_behind) {
  if (rt::with_tsan) GTEST_SKIP() << "ThreadSanitizer ends a child of fork that makes threads if its parent had some";
  pid_t const player = ::fork();
  if (player == 0) {
    ::alarm(60);
    ::setenv("TMPDIR", folder_.c_str(), 1);
    run({.file = "-", .written = {.json = "-"}}, "limit 60s; go a { repeat 6 { sleep 10s } }");
    ::_exit(0);
  }
  ASSERT_GT(player, 0);
  EXPECT_TRUE(test::spin_until([&] { return has_open_file_in(player, folder_); }));
  ::kill(player, SIGINT);
  int status = 0;
  ASSERT_EQ(::waitpid(player, &status, 0), player);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(play_command, a_long_scenario_is_shown_to_the_step_that_is_the_last_one) {
  ASSERT_EQ(run({.file = "-", .written = {.json = path("long.json")}}, "go a { repeat 5000 { yield } }"), 0);
  EXPECT_EQ(errors_,
            "thrum play: (standard input): the recording has the first 2001 steps; make the scenario shorter "
            "to see its end\n");
}

TEST_F(play_command, each_example_comes_to_its_end_and_the_deadlock_to_its_own) {
  std::vector<std::filesystem::path> files;
  for (auto const& each : std::filesystem::directory_iterator(sources + "/examples/play")) files.push_back(each.path());
  EXPECT_GE(files.size(), 5U);
  for (std::filesystem::path const& each : files) {
    bool const is_deadlock = each.stem() == "deadlock";
    EXPECT_EQ(run({.file = each.string(), .written = {.json = "-"}}), is_deadlock ? 1 : 0) << each << ": " << errors_;
    EXPECT_EQ(contains(errors_, "deadlock"), is_deadlock) << errors_;
    EXPECT_EQ(json_reader(out_).at("kind"), "play");
  }
}

TEST(playground_document, shows_an_example_as_it_is) {
  std::string const document = contents(sources + "/docs/playground.md");
  EXPECT_TRUE(contains(document, "```\n" + contents(sources + "/examples/play/workers.play") + "```\n"));
}

}  // namespace
