#include "command/models/command.h"

#include "command/models/report.h"
#include "command/trace/write_file.h"

#include <ostream>

namespace thrum::command {

int run_models(models_options const& options, std::ostream& out, std::ostream& errors) {
  auto const draw = [&](std::string const& picture) {
    return options.svg.empty() ||
           write_file("thrum bench", options.svg, errors, [&](std::ostream& to) { to << picture; });
  };
  if (!draw("")) return cannot_work;  // first of all, because the jobs take long
  job_sizes const sizes = options.is_short ? short_sizes() : sizes_for_this_machine();
  comparison const all = compare(sizes, options.is_short ? 1 : 5);
  out << (options.json ? as_json(all, sizes) : as_table(all, sizes)) << std::flush;
  if (!draw(as_svg(all, sizes))) return cannot_work;
  return out ? fine : cannot_work;
}

}  // namespace thrum::command
