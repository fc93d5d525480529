#include "command/models/command.h"

#include "command/models/report.h"

#include <cerrno>
#include <fstream>
#include <ostream>
#include <system_error>

namespace thrum::command {

int run_models(models_options const& options, std::ostream& out, std::ostream& errors) {
  // Opened first, because the jobs take long.
  std::ofstream picture;
  if (!options.svg.empty()) {
    errno = 0;
    picture.open(options.svg, std::ios::binary | std::ios::trunc);
    if (!picture) {
      errors << "thrum bench: cannot write " << options.svg << ": " << std::generic_category().message(errno) << "\n";
      return cannot_work;
    }
  }
  job_sizes const sizes = options.is_short ? short_sizes() : sizes_for_this_machine();
  comparison const all = compare(sizes, options.is_short ? 1 : 5);
  out << (options.json ? as_json(all, sizes) : as_table(all, sizes)) << std::flush;
  if (!options.svg.empty()) {
    picture << as_svg(all, sizes);
    picture.close();
    if (!picture) {
      errors << "thrum bench: cannot write " << options.svg << ": " << std::generic_category().message(errno) << "\n";
      return cannot_work;
    }
  }
  return out ? fine : cannot_work;
}

}  // namespace thrum::command
