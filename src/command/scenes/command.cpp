#include "command/scenes/command.h"

#include "command/scenes/json.h"
#include "command/scenes/page.h"
#include "scenes/play.h"
#include "scenes/stage.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <ostream>

namespace thrum::command {
namespace {

bool write_file(std::string const& path, std::string const& text, std::ostream& errors) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text << std::flush;
  if (file) return true;
  errors << "thrum scenes: cannot write " << path << ": " << std::strerror(errno) << "\n";
  return false;
}

}  // namespace

int run_scenes(scenes_options const& options, std::ostream& out, std::ostream& errors) {
  std::string json;
  try {
    json = json_of(scenes::play());
  } catch (scenes::stage_failure const& failure) {
    errors << "thrum scenes: " << failure.what() << "\n";
    return cannot_work;
  }
  std::string const page = options.page.empty() && options.json.empty() ? "thrum-scenes.html" : options.page;
  if (options.json == "-") {
    out << json << std::flush;
  } else if (!options.json.empty() && !write_file(options.json, json, errors)) {
    return cannot_work;
  }
  if (page.empty()) return out ? fine : cannot_work;
  if (!write_file(page, page_with(json), errors)) return cannot_work;
  if (options.json != "-") out << "The scenes are in " << page << "; open it in a browser.\n" << std::flush;
  return out ? fine : cannot_work;
}

}  // namespace thrum::command
