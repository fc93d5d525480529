#include "command/scenes/command.h"

#include "command/scenes/json.h"
#include "scenes/play.h"
#include "scenes/stage.h"

#include <ostream>

namespace thrum::command {

int run_scenes(recording_files const& files, std::ostream& out, std::ostream& errors) {
  std::string json;
  try {
    json = json_of(scenes::play());
  } catch (scenes::stage_failure const& failure) {
    errors << "thrum scenes: " << failure.what() << "\n";
    return cannot_work;
  }
  return write_recording("thrum scenes", files, "thrum-scenes.html", json, "The scenes are", out, errors);
}

}  // namespace thrum::command
