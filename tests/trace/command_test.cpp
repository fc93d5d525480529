// What `thrum trace` prints, writes and returns.
#include "command/trace/command.h"

#include "command/trace/perfetto.h"
#include "trace/example_trace.h"
#include "trace/json_reader.h"
#include "trace/reading.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>
#include <sys/wait.h>

namespace {

using namespace thrum;
using namespace thrum::test;

class trace_command : public testing::Test {
 protected:
  trace_command() {
    std::string name = (std::filesystem::temp_directory_path() / "thrum_trace_XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~trace_command() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path(char const* name) const { return folder_ + "/" + name; }
  std::string write(char const* name, std::string const& bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }
  static std::string contents(std::string const& path) {
    std::ostringstream all;
    all << std::ifstream(path, std::ios::binary).rdbuf();
    return all.str();
  }
  int run(command::trace_options const& options) {
    std::ostringstream out, errors;
    int const code = command::run_trace(options, out, errors);
    out_ = out.str();
    errors_ = errors.str();
    return code;
  }

  std::string folder_, out_, errors_;
};

TEST_F(trace_command, a_file_is_summarised) {
  EXPECT_EQ(run({.file = write("a", example_trace().bytes())}), 0);
  EXPECT_TRUE(contains(out_, "3 goroutines: 1 existed before the trace, 2 were created, 1 ended")) << out_;
  EXPECT_EQ(errors_, "");
}

TEST_F(trace_command, json_is_nothing_but_json) {
  EXPECT_EQ(run({.file = write("a", example_trace().bytes()), .json = true, .svg = path("a.svg")}), 0);
  EXPECT_EQ(json_reader(out_).at("duration_ns"), "20000");
  EXPECT_TRUE(contains(contents(path("a.svg")), "</svg>"));
}

TEST_F(trace_command, files_are_written_and_named) {
  std::string const file = write("a", example_trace().bytes());
  EXPECT_EQ(run({.file = file, .svg = path("a.svg")}), 0);
  EXPECT_EQ(out_, "wrote " + path("a.svg") + "\n");
  int const code = run({.file = file, .perfetto = path("a.pftrace")});
  if (command::has_perfetto()) {
    EXPECT_EQ(code, 0);
    EXPECT_TRUE(std::filesystem::file_size(path("a.pftrace")) > 1'000);
  } else {
    EXPECT_EQ(code, 2);
    EXPECT_TRUE(contains(errors_, "--perfetto is left out, because protobuf was not found"));
  }
}

TEST_F(trace_command, a_page_and_a_recording_are_written) {
  EXPECT_EQ(run({.file = write("a", example_trace().bytes()),
                 .recording = path("a.json"),
                 .page = path("a.html"),
                 .page_with = [](std::string_view json) { return "page with " + std::string(json); }}),
            0);
  EXPECT_EQ(out_, "wrote " + path("a.json") + "\nwrote " + path("a.html") + "\n");
  EXPECT_EQ(contents(path("a.html")), "page with " + contents(path("a.json")));
  EXPECT_EQ(json_reader(contents(path("a.json"))).at("format"), "thrum-recording");
  EXPECT_EQ(errors_, "");
}

TEST_F(trace_command, an_output_that_cannot_be_written_is_an_error) {
  EXPECT_EQ(run({.file = write("a", example_trace().bytes()), .svg = path("none/a.svg")}), 2);
  EXPECT_TRUE(contains(errors_, "cannot write " + path("none/a.svg") + ": No such file or directory")) << errors_;
}

TEST_F(trace_command, check_ends_with_0_or_with_1_and_the_violations) {
  EXPECT_EQ(run({.file = write("a", example_trace().bytes()), .check = true}), 0);
  EXPECT_TRUE(contains(out_, "3 goroutines, no violation")) << out_;
  trace_builder twice = example_records();
  EXPECT_EQ(run({.file = write("b", twice.g(0, 20'100, kind::hosted, 1).end().bytes()), .check = true}), 1);
  EXPECT_TRUE(contains(out_, "violation: goroutine 1, `hosted` at byte ")) << out_;
  // A trace that was cut off keeps to its format.
  EXPECT_EQ(run({.file = write("c", example_records().flush_all().bytes()), .check = true}), 0);
  EXPECT_TRUE(contains(out_, "note: the trace was cut off at byte ")) << out_;
}

TEST_F(trace_command, a_damaged_file_is_summarised_up_to_the_damage_and_ends_with_1) {
  EXPECT_EQ(
      run({.file = write("a",
                         example_records().flush_all().raw("what is this doing at this place, in the file?").bytes())}),
      1);
  EXPECT_TRUE(contains(out_, "no block begins there")) << out_;
  EXPECT_TRUE(contains(out_, "3 goroutines")) << out_;
}

TEST_F(trace_command, what_cannot_be_read_ends_with_2_and_the_reason) {
  EXPECT_EQ(run({.file = path("none")}), 2);
  EXPECT_TRUE(contains(errors_, "cannot open " + path("none") + ": No such file or directory")) << errors_;
  EXPECT_EQ(run({.file = folder_}), 2);
  EXPECT_TRUE(contains(errors_, "thrum trace: " + folder_ + ": ")) << errors_;
  EXPECT_EQ(run({.file = write("a", "no trace")}), 2);
  EXPECT_TRUE(contains(errors_, "this is no trace file")) << errors_;
}

#ifdef THRUM_COMMAND
std::string output_of(std::string const& arguments, int code) {
  std::FILE* const from = popen((std::string(THRUM_COMMAND) + " " + arguments + " 2>&1").c_str(), "r");
  std::string all;
  char piece[512];
  for (std::size_t n; (n = std::fread(piece, 1, sizeof piece, from)) > 0;) all.append(piece, n);
  int const status = pclose(from);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == code) << arguments << ": " << all;
  return all;
}

TEST_F(trace_command, the_program_has_help_with_examples_and_a_version) {
  EXPECT_TRUE(contains(output_of("--version", 0), "thrum 0.")) << output_of("--version", 0);
  EXPECT_TRUE(contains(output_of("--help", 0), "Example"));
  EXPECT_TRUE(contains(output_of("trace --help", 0), "--perfetto out.pftrace"));
  EXPECT_TRUE(contains(output_of("dance", 2), "--help"));
  EXPECT_TRUE(contains(output_of("", 2), "subcommand"));
  EXPECT_TRUE(contains(output_of("trace", 2), "FILE"));
}

TEST_F(trace_command, the_program_hands_its_options_on) {
  std::string const file = write("a", example_trace().bytes());
  EXPECT_TRUE(contains(output_of("trace " + file, 0), "Scheduling latency"));
  EXPECT_EQ(json_reader(output_of("trace --json --top 1 " + file, 0)).at("sites.1.created_at"),
            "nothing at sites.1.created_at");
  EXPECT_TRUE(contains(output_of("trace --check " + file, 0), "no violation"));
  EXPECT_TRUE(contains(output_of("trace --svg " + path("a.svg") + " " + file, 0), "wrote"));
  output_of("trace --check --json " + file, 2);
  output_of("trace " + path("none"), 2);
}
#endif

}  // namespace
