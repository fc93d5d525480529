#include "command/scenes/write_recording.h"

#include "command/exit_codes.h"
#include "command/scenes/page.h"
#include "command/trace/write_file.h"

#include <ostream>

namespace thrum::command {

int write_recording(std::string_view command, recording_files const& files, std::string const& usual_page,
                    std::string const& json, std::string_view what, std::ostream& out, std::ostream& errors) {
  auto const write = [&](std::string const& path, std::string const& text) {
    return write_file(command, path, errors, [&](std::ostream& to) { to << text; });
  };
  std::string const page = files.page.empty() && files.json.empty() ? usual_page : files.page;
  if (files.json == "-") {
    out << json << std::flush;
  } else if (!files.json.empty() && !write(files.json, json)) {
    return cannot_work;
  }
  if (page.empty()) return out ? fine : cannot_work;
  if (!write(page, page_with(json))) return cannot_work;
  if (files.json != "-") out << what << " in " << page << "; open it in a browser.\n" << std::flush;
  return out ? fine : cannot_work;
}

}  // namespace thrum::command
