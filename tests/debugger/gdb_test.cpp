// The commands of share/gdb/thrum-gdb.py in the real gdb, on a live process and on its core file.
//
// target/target.cpp is the process. The tests make copies of it without debug information, as in a plain Release build,
// stripped with a separate debug file, and stripped without one.
#include "base/platform.h"
#include "support/child.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace {

namespace files = std::filesystem;
using thrum::test::run_shell;

std::string const target = THRUM_DEBUGGER_TARGET;

// The commands that are run on each target. on() is in by_name.py.
constexpr std::string_view commands = R"(
echo \n@@info goroutines\n
info goroutines
echo \n@@info goroutines -g\n
info goroutines -g
echo \n@@info goroutines of a kind\n
info goroutines one of a crowd
echo \n@@info procs\n
info procs
echo \n@@info ms\n
info ms
python on("receiver", "bt")
python on("receiver", "bt -no-filters")
python on("selector", "bt")
python on("holder", "bt")
python on("contender", "bt")
python on("group waiter", "bt")
python on("sleeper", "bt")
python on("reader", "bt")
python on("caller", "bt")
python on("woken", "bt")
python on("locked", "bt")
python on("hog", "bt")
python on("the main one", "bt")
python on("inner", "bt")
python on("middle", "bt")
python on("host", "bt")
python on("inner", "frame")
python on("middle", "frame")
python on("host", "frame")
python on("receiver", "frame")
python on("receiver", "up")
python on("receiver", "frame")
python on("receiver", "down")
python on("receiver", "")
echo \n@@selected\n
goroutine
bt
echo \n@@left\n
goroutine 0
goroutine
bt
echo \n@@no such goroutine\n
goroutine 123456789
)";
// For these gdb needs the types of variables.
constexpr std::string_view commands_about_variables = R"(
python on("receiver", "locals")
python on("receiver", "print number")
python on("host", "print number")
python on("hog", "print number")
echo \n@@print numbers\n
print target::numbers
echo \n@@print words\n
print target::words
echo \n@@print empty\n
print target::empty
echo \n@@print lock\n
print target::lock
echo \n@@print group\n
print target::group
echo \n@@print ctx\n
print target::cancelled.ctx
)";

// What gdb printed, by the heads "@@..." of the parts.
class printed {
 public:
  explicit printed(std::string all) : all_(std::move(all)) {}
  [[nodiscard]] std::string const& all() const { return all_; }
  // Empty if there is none.
  [[nodiscard]] std::string part(std::string const& head) const {
    std::size_t const at = all_.find("@@" + head + '\n');
    return at == std::string::npos ? "" : all_.substr(at, all_.find("\n@@", at) - at);
  }
  // The line of info goroutines about the goroutine with this name.
  [[nodiscard]] std::string line(std::string const& name) const {
    std::string const list = part("info goroutines");
    std::size_t const at = list.find("] " + name + "  ");
    if (at == std::string::npos) return {};
    std::size_t const begin = list.rfind('\n', at) + 1;
    return list.substr(begin, list.find('\n', at) - begin);
  }

 private:
  std::string all_;
};

void expect_has(std::string const& text, std::string const& pattern, std::string_view what) {
  EXPECT_TRUE(std::regex_search(text, std::regex(pattern))) << what << " has no " << pattern << ":\n" << text;
}

auto count_in(std::string const& text, std::string const& pattern) {
  std::regex const what(pattern);
  return std::distance(std::sregex_iterator(text.begin(), text.end(), what), {});
}

// One folder for each test. The core file and the copies of the program are made in it.
class GdbTest : public testing::Test {
 protected:
  void SetUp() override {
    if (thrum::rt::with_asan || thrum::rt::with_tsan) GTEST_SKIP() << "not with a sanitizer, which a debugger disturbs";
    if (thrum::test::emulated()) GTEST_SKIP() << "the emulator runs this program, and gdb would debug the emulator";
    if (run_shell("gdb -nx -batch -ex 'python print(6 * 7)'").text.find("42") == std::string::npos) {
      GTEST_SKIP() << "gdb with Python is not installed (Debian: gdb)";
    }
    std::string name = testing::TempDir() + "thrum_gdb_XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override {
    if (!folder_.empty()) files::remove_all(folder_);
  }

  [[nodiscard]] std::string in_folder(std::string const& name) const { return (folder_ / name).string(); }

  // Runs gdb. `before` and `after` are lines of commands, around those of `what`.
  [[nodiscard]] printed gdb(std::string const& program, std::string const& core, std::string const& before,
                            std::string_view what, std::string const& after = "") const {
    std::string const script = in_folder("commands");
    // A command that fails ends a script, so Python runs each line by itself.
    std::ofstream out(script);
    out << "set pagination off\nset width 0\nset confirm off\n"
        << before << "source " THRUM_SOURCE_DIR "/share/gdb/thrum-gdb.py\n"
        << "source " THRUM_SOURCE_DIR "/tests/debugger/by_name.py\n"
        << "python\nfor line in r'''" << what << "'''.splitlines():\n"
        << "  try:\n    gdb.execute(line)\n  except gdb.error as error:\n    print('error: %s' % error)\nend\n"
        << after;
    out.close();
    std::string const command = "DEBUGINFOD_URLS= gdb -nx -batch -x " + script + ' ' + program + ' ' + core;
    return printed(run_shell("cd " + folder_.string() + " && " + command).text);
  }

  // Stops the program in stop_here, runs the commands, and makes a core file.
  [[nodiscard]] printed live(std::string const& program, std::string_view what) const {
    return gdb(program, "", "break stop_here\nrun\n", what, "thrum-gcore " + in_folder("core") + "\nkill\n");
  }
  [[nodiscard]] printed of_core(std::string const& program, std::string_view what) const {
    return gdb(program, in_folder("core"), "", what);
  }

  static bool is_refused(printed const& said) {
    return said.all().find("Operation not permitted") != std::string::npos ||
           said.all().find("Could not trace") != std::string::npos;
  }

 private:
  files::path folder_;
};

#define THRUM_MAKE(command) \
  if (auto const made = run_shell(command); made.code != 0) GTEST_SKIP() << "binutils do not work here: " << made.text
#define THRUM_SKIP_IF_REFUSED(said) \
  if (is_refused(said)) GTEST_SKIP() << "this machine does not let gdb trace a process:\n" << (said).all()

void check_list(printed const& said) {
  struct {
    char const* name;
    char const* state;
    char const* function;
    bool is_created = true;
  } const expected[] = {
      {"receiver", "waiting: chan receive 0x[0-9a-f]+", "target::receive_in_vain"},
      {"selector", "waiting: select (receive from|send to) 0x[0-9a-f]+, (receive from|send to) 0x[0-9a-f]+",
       "target::wait_in_select"},
      {"contender", "waiting: mutex 0x[0-9a-f]+ held by goroutine [0-9]+", "target::want_the_lock"},
      {"group waiter", "waiting: wait group 0x[0-9a-f]+", "target::wait_for_group"},
      {"sleeper", "waiting: sleep", "target::sleep_long"},
      {"reader", "waiting: IO wait fd [0-9]+, to read", "target::read_from_socket"},
      {"caller", "syscall", "target::read_from_pipe"},
      {"woken", "runnable", "target::wait_to_be_woken"},
      {"locked", "waiting: chan receive 0x[0-9a-f]+, locked to thread", "target::receive_in_vain"},
      {"hog", "runnable", "target::compute_for_ever"},
      {"the main one", "running", "(target::main|stop_here)", false},
      {"inner", "waiting: chan receive 0x[0-9a-f]+", "target::receive_in_vain"},
      {"middle", "runs goroutine [0-9]+ in place", "target::join_the_inner"},
      {"host", "runs goroutine [0-9]+ in place", "target::join_the_middle"},
  };
  for (auto const& one : expected) {
    expect_has(
        said.line(one.name),
        std::string("goroutine [0-9]+ \\[") + one.state + "(, [0-9]+ (ms|s|min))?\\] " + one.name + "  " + one.function,
        one.name);
    if (one.is_created) expect_has(said.line(one.name), "created by goroutine [0-9]+ in target::", one.name);
  }
  expect_has(said.part("info goroutines"), "\\[runnable \\(not started\\)\\]  .*main", "the unstarted goroutine");
  expect_has(said.part("info goroutines"), "a thread from outside\\]", "the foreign thread");
  // The holder of the lock is named by its number.
  std::smatch holder;
  std::string const its_line = said.line("holder");
  ASSERT_TRUE(std::regex_search(its_line, holder, std::regex("goroutine ([0-9]+)"))) << said.all();
  expect_has(said.line("contender"), "held by goroutine " + holder[1].str() + "\\b", "contender");

  expect_has(said.part("info goroutines -g"), "20 goroutines \\[waiting: chan receive.*\\]", "the crowd");
  std::string const crowd = said.part("info goroutines of a kind");
  EXPECT_EQ(count_in(crowd, "\\] one of a crowd  "), 20);
  expect_has(said.part("info procs"), "P0 +running +M[0-9]+ +goroutine [0-9]+ +schedtick [0-9]+ +runs next: [0-9]+ ",
             "info procs");
  expect_has(said.part("info ms"), "M[0-9]+ +thread [0-9]+ +LWP [0-9]+ +P0 +goroutine [0-9]+ +awake", "info ms");
  expect_has(said.part("info ms"), "paused", "info ms");
  expect_has(said.part("info ms"), "in place", "info ms");
  expect_has(said.part("info ms"), "in a blocking call", "info ms");
}

void check_stacks(printed const& said) {
  static constexpr char const* frames_of_main = "stop_here[\\s\\S]*target::main";  // no goroutine has created it
  struct {
    char const* name;
    char const* frames;  // from the innermost on
  } const expected[] = {
      {"receiver", "target::receive_in_vain"},
      {"selector", "target::wait_in_select"},
      {"holder", "target::receive_in_vain[\\s\\S]*target::hold_the_lock"},
      {"contender", "target::want_the_lock"},
      {"group waiter", "target::wait_for_group"},
      {"sleeper", "target::sleep_long"},
      {"reader", "target::read_from_socket"},
      {"caller", "target::read_from_pipe"},
      {"woken", "target::wait_to_be_woken"},
      {"locked", "target::receive_in_vain[\\s\\S]*target::wait_on_own_thread"},
      {"hog", "<signal handler called>[\\s\\S]*target::compute_for_ever"},
      {"the main one", frames_of_main},
      {"inner", "target::receive_in_vain[\\s\\S]*target::join_the_inner[\\s\\S]*target::join_the_middle"},
      {"middle", "target::receive_in_vain[\\s\\S]*target::join_the_inner[\\s\\S]*target::join_the_middle"},
      {"host", "target::receive_in_vain[\\s\\S]*target::join_the_inner[\\s\\S]*target::join_the_middle"},
  };
  for (auto const& one : expected) {
    std::string const stack = said.part(std::string(one.name) + ": bt");
    expect_has(stack,
               std::string("goroutine [0-9]+ \\[.*\\] ") + one.name + "\n[\\s\\S]*" + one.frames +
                   (one.frames == frames_of_main ? "" : "[\\s\\S]*created by goroutine [0-9]+ in target::"),
               one.name);
    // gdb's words for a stack that it does not understand.
    EXPECT_EQ(stack.find("corrupt"), std::string::npos) << stack;
    EXPECT_EQ(stack.find("error:"), std::string::npos) << stack;
  }
  // With the frames of the runtime the stack ends where it began.
  expect_has(said.part("receiver: bt -no-filters"),
             "switch_context[\\s\\S]*target::receive_in_vain[\\s\\S]*thrum_goroutine_entry", "all frames");
  // The frames of the thread that gdb borrows do not belong to the goroutine.
  EXPECT_EQ(said.part("receiver: bt").find("stop_here"), std::string::npos) << said.part("receiver: bt");
}

void check_frames(printed const& said) {
  expect_has(said.part("inner: frame"), "target::receive_in_vain", "inner");
  expect_has(said.part("middle: frame"), "target::join_the_inner", "middle");
  expect_has(said.part("host: frame"), "target::join_the_middle", "host");
  expect_has(said.part("receiver: frame"), "#[0-9]+ .*target::receive_in_vain", "receiver");
  expect_has(said.part("receiver: up"), "#[0-9]+ ", "receiver");
  expect_has(said.part("receiver: down"), "#[0-9]+ .*target::receive_in_vain", "receiver");
  expect_has(said.part("selected"),
             "goroutine [0-9]+ \\[waiting: chan receive.*receiver[\\s\\S]*target::receive_in_vain",
             "the selected goroutine");
  EXPECT_EQ(said.part("selected").find("stop_here"), std::string::npos) << said.part("selected");
  expect_has(said.part("left"), "no goroutine is selected[\\s\\S]*stop_here", "the thread");
  expect_has(said.part("no such goroutine"), "there is no goroutine 123456789", "a wrong number");
}

void check_variables(printed const& said) {
  expect_has(said.part("receiver: locals"), "number = 7", "locals");
  expect_has(said.part("receiver: print number"), "= 7", "a variable of a parked goroutine");
  expect_has(said.part("host: print number"), "= 7", "a variable of a goroutine that runs others in place");
  expect_has(said.part("hog: print number"), "= 7", "a variable of a preempted goroutine");
  expect_has(said.part("print numbers"),
             "thrum::chan 0x[0-9a-f]+, 4 of 4 in the buffer, senders waiting: [0-9]+ = "
             "\\{\\[0\\] = 11, \\[1\\] = 22, \\[2\\] = 33, \\[3\\] = 44\\}",
             "numbers");
  expect_has(said.part("print words"), "1 of 2 in the buffer = \\{\\[0\\] = .*first", "words");
  expect_has(said.part("print empty"), "0 of 0 in the buffer, receivers waiting: [0-9]+ [0-9]+", "empty");
  expect_has(said.part("print lock"), "thrum::mutex locked by goroutine [0-9]+; waiting: [0-9]+", "lock");
  expect_has(said.part("print group"), "thrum::wait_group 1; waiting: [0-9]+", "group");
  expect_has(said.part("print ctx"), "thrum::context 0x[0-9a-f]+, cancelled", "ctx");
}

// A plain Release build: there are symbols, but no types and no lines.
TEST_F(GdbTest, shows_all_goroutines_of_a_live_process_and_of_its_core) {
  std::string const program = in_folder("without_types");
  THRUM_MAKE("strip --strip-debug -o " + program + ' ' + target);
  printed const process = live(program, commands);
  THRUM_SKIP_IF_REFUSED(process);
  {
    SCOPED_TRACE("the process");
    check_list(process);
    check_stacks(process);
    check_frames(process);
  }
  printed const core = of_core(program, commands);
  SCOPED_TRACE("its core file");
  check_list(core);
  check_stacks(core);
  check_frames(core);
}

TEST_F(GdbTest, shows_all_goroutines_in_the_core_file_of_a_program_that_has_aborted) {
  static_cast<void>(run_shell("cd " + in_folder("") + " && ulimit -c unlimited && " + target + " and abort"));
  std::string core;
  for (auto const& each : files::directory_iterator(in_folder(""))) core = each.path().string();
  if (core.empty()) GTEST_SKIP() << "the kernel writes no core file here (/proc/sys/kernel/core_pattern)";
  files::rename(core, in_folder("core"));
  printed const said = of_core(target, commands);
  check_list(said);
  check_stacks(said);
}

TEST_F(GdbTest, shows_variables_of_goroutines_where_the_program_has_debug_information) {
  std::string const all = std::string(commands) + std::string(commands_about_variables);
  printed const process = live(target, all);
  THRUM_SKIP_IF_REFUSED(process);
  {
    SCOPED_TRACE("the process");
    check_list(process);
    check_stacks(process);
    check_frames(process);
    check_variables(process);
  }
  printed const core = of_core(target, all);
  SCOPED_TRACE("its core file");
  check_list(core);
  check_stacks(core);
  check_variables(core);
}

TEST_F(GdbTest, works_on_a_stripped_program_with_a_separate_debug_file) {
  std::string const program = in_folder("stripped");
  std::string const debug = in_folder("stripped.debug");
  THRUM_MAKE("objcopy --only-keep-debug " + target + ' ' + debug + " && strip --strip-all -o " + program + ' ' +
             target + " && objcopy --add-gnu-debuglink=" + debug + ' ' + program);
  std::string const all = std::string(commands) + std::string(commands_about_variables);
  printed const process = live(program, all);
  THRUM_SKIP_IF_REFUSED(process);
  {
    SCOPED_TRACE("the process");
    check_list(process);
    check_stacks(process);
  }
  printed const core = of_core(program, all);
  SCOPED_TRACE("its core file");
  check_list(core);
  check_stacks(core);
  check_variables(core);
}

// The names of functions are gone, but the table is found by its section.
TEST_F(GdbTest, lists_the_goroutines_of_a_stripped_program_without_a_debug_file) {
  printed const process = live(target, "info goroutines");
  THRUM_SKIP_IF_REFUSED(process);
  std::string const program = in_folder("stripped");
  THRUM_MAKE("strip --strip-all -o " + program + ' ' + target);
  printed const core = of_core(program, commands);
  expect_has(core.line("receiver"), "goroutine [0-9]+ \\[waiting: chan receive 0x[0-9a-f]+", "receiver");
  expect_has(core.line("contender"), "waiting: mutex 0x[0-9a-f]+ held by goroutine [0-9]+", "contender");
  std::string const stack = core.part("holder: bt");
  EXPECT_GE(count_in(stack, "#[0-9]+ +0x"), 5) << stack;
}

TEST_F(GdbTest, finds_the_script_in_a_program_that_contains_it) {
  auto const said = run_shell("gdb -nx -batch -iex 'add-auto-load-safe-path /' -ex 'info goroutines' " + target);
  expect_has(said.text, "no thrum::run is alive", "gdb without -x");
}

TEST_F(GdbTest, says_so_where_there_is_no_thrum_and_where_no_run_is_alive) {
  printed const none = gdb("/bin/true", "", "", "info goroutines");
  expect_has(none.all(), "no thrum in this program", "a program without thrum");
  printed const not_run = gdb(target, "", "", "info goroutines");
  expect_has(not_run.all(), "no thrum::run is alive", "a program that was not started");
}

}  // namespace
