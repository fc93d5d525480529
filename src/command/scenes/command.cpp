#include "command/scenes/command.h"

#include "command/scenes/json.h"
#include "command/scenes/page.h"
#include "command/trace/write_file.h"
#include "scenes/play.h"
#include "scenes/stage.h"

#include <ostream>

namespace thrum::command {

int run_scenes(scenes_options const& options, std::ostream& out, std::ostream& errors) {
  auto const write = [&](std::string const& path, std::string const& text) {
    return write_file("thrum scenes", path, errors, [&](std::ostream& to) { to << text; });
  };
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
  } else if (!options.json.empty() && !write(options.json, json)) {
    return cannot_work;
  }
  if (page.empty()) return out ? fine : cannot_work;
  if (!write(page, page_with(json))) return cannot_work;
  if (options.json != "-") out << "The scenes are in " << page << "; open it in a browser.\n" << std::flush;
  return out ? fine : cannot_work;
}

}  // namespace thrum::command
