#include "command/play/command.h"

#include "command/play/parse.h"
#include "command/play/record.h"
#include "command/play/scenario.h"
#include "command/trace/text.h"
#include "command/trace/trace_file.h"

#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <istream>
#include <ostream>
#include <string>
#include <system_error>

namespace thrum::command {
namespace {

constexpr std::size_t shown_goroutines_max = 20;

// One byte more than a scenario may have, at most, so that the parser sees that the file is too long.
std::string read_all(std::istream& from) {
  std::string text(scenario_bytes_max + 1, '\0');
  from.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(from.gcount()));
  if (from.bad() || (from.fail() && !from.eof())) throw std::system_error(errno, std::generic_category());
  return text;
}

std::string read_scenario(std::string const& file, std::istream& in) {
  if (file == "-") return read_all(in);
  errno = 0;
  std::ifstream from(file, std::ios::binary);
  if (!from) throw std::system_error(errno, std::generic_category());
  return read_all(from);
}

void print(performance const& how, std::string const& name, std::ostream& errors) {
  errors << "thrum play: " << name << ": " << how.why << "\n";
  for (std::size_t i = 0; i < how.still_there.size() && i < shown_goroutines_max; ++i) {
    errors << "  " << how.still_there[i] << "\n";
  }
  if (how.still_there.size() > shown_goroutines_max) {
    errors << "  and " << how.still_there.size() - shown_goroutines_max << " more\n";
  }
}

// What the page calls it: the name of the file without its folder.
std::string title_of(std::string const& file) {
  return file == "-" ? "scenario" : clean_text(std::filesystem::path(file).filename().string());
}

int play(play_options const& options, std::string const& name, std::istream& in, std::ostream& out,
         std::ostream& errors) {
  played const done = play_and_record(parse_scenario(read_scenario(options.file, in)), title_of(options.file));
  if (done.how.how != ending::finished) print(done.how, name, errors);
  if (!done.shown.is_whole) {
    errors << "thrum play: " << name << ": the recording has the first " << done.shown.steps
           << " steps; make the scenario shorter to see its end\n";
  }
  int const code = write_recording("thrum play", options.written, "thrum-play.html", done.shown.json, "The scenario is",
                                   out, errors);
  return code == fine && done.how.how != ending::finished ? found_faults : code;
}

}  // namespace

int run_play(play_options const& options, std::istream& in, std::ostream& out, std::ostream& errors) {
  std::string const name = options.file == "-" ? "(standard input)" : clean_text(options.file);
  auto const refuse = [&](std::string const& what) {
    errors << "thrum play: " << what << "\n";
    return cannot_work;
  };
  try {
    return play(options, name, in, out, errors);
  } catch (scenario_error const& error) {
    return refuse(text("%s:%d:%d: %s", name.c_str(), error.at.line, error.at.column, error.what()));
  } catch (another_trace const& failure) {
    return refuse(std::string(failure.what()) + "; unset THRUM_TRACE");
  } catch (unreadable_file const& failure) {
    return refuse(text("the trace of %s cannot be read: %s", name.c_str(), failure.what()));
  } catch (std::system_error const& failure) {
    return refuse(text("%s: %s", name.c_str(), failure.what()));
  }
}

}  // namespace thrum::command
