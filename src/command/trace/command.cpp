#include "command/trace/command.h"

#include "command/trace/json.h"
#include "command/trace/perfetto.h"
#include "command/trace/print_summary.h"
#include "command/trace/recording.h"
#include "command/trace/summarise.h"
#include "command/trace/svg.h"
#include "command/trace/text.h"
#include "command/trace/trace.h"
#include "command/trace/write_file.h"

#include <functional>
#include <new>
#include <ostream>

namespace thrum::command {
namespace {

class command {
 public:
  command(trace_options const& options, std::ostream& out, std::ostream& errors)
      : options_(options), out_(out), errors_(errors) {}

  int run() {
    if (!options_.perfetto.empty() && !has_perfetto()) {
      errors_ << "thrum trace: --perfetto is left out, because protobuf was not found when this program was built "
                 "(Debian: libprotobuf-dev and protobuf-compiler)\n";
      return cannot_work;
    }
    trace const read = analyse(read_trace_file(options_.file));
    if (options_.check) return check(read);
    bool wrote = true;
    if (!options_.perfetto.empty()) {
      wrote = write(options_.perfetto, [&](std::ostream& to) { write_perfetto(read, to); });
    }
    if (wrote && !options_.svg.empty()) wrote = write(options_.svg, [&](std::ostream& to) { to << as_svg(read); });
    if (wrote && (!options_.recording.empty() || !options_.page.empty())) wrote = write_recording(read);
    if (!wrote) return cannot_work;
    if (options_.json) {
      out_ << as_json(read, summarise(read, options_.rows));
    } else if (!writes_files()) {
      out_ << options_.file << ": " << printed(read, summarise(read, options_.rows));
    } else {
      for (std::string const& each : read.notes()) errors_ << "note: " << each << "\n";
    }
    return read.file.damage.empty() ? fine : found_faults;
  }

 private:
  int check(trace const& read) {
    findings const& violations = read.violations();
    for (std::string const& each : violations.kept()) out_ << "violation: " << each << "\n";
    if (violations.count() > violations.kept().size()) {
      out_ << "violation: " << violations.count() - violations.kept().size() << " more\n";
    }
    if (!read.file.damage.empty()) out_ << "violation: " << read.file.damage << "\n";
    bool const is_fine = violations.count() == 0 && read.file.damage.empty();
    if (is_fine) {
      for (std::string const& each : read.notes()) out_ << "note: " << each << "\n";
      out_ << options_.file << ": " << read.merged.events.size() << " records of " << read.past.goroutines.size()
           << " goroutines, no violation\n";
    }
    return is_fine ? fine : found_faults;
  }

  [[nodiscard]] bool writes_files() const {
    return !options_.perfetto.empty() || !options_.svg.empty() || !options_.recording.empty() || !options_.page.empty();
  }

  bool write_recording(trace const& read) {
    recording const made = as_recording(read, clean_text(options_.file));
    if (!made.is_whole) {
      errors_ << "note: the recording has the first " << made.steps << " steps of the trace\n";
    }
    bool wrote = true;
    if (!options_.recording.empty()) wrote = write(options_.recording, [&](std::ostream& to) { to << made.json; });
    if (!wrote || options_.page.empty()) return wrote;
    return write(options_.page, [&](std::ostream& to) { to << options_.page_with(made.json); });
  }

  bool write(std::string const& path, std::function<void(std::ostream&)> const& write) {
    if (!write_file("thrum trace", path, errors_, write)) return false;
    if (!options_.json) out_ << "wrote " << path << "\n";
    return true;
  }

  trace_options const& options_;
  std::ostream& out_;
  std::ostream& errors_;
};

}  // namespace

int run_trace(trace_options const& options, std::ostream& out, std::ostream& errors) {
  try {
    return command(options, out, errors).run();
  } catch (unreadable_file const& failure) {
    errors << "thrum trace: " << options.file << ": " << failure.what() << "\n";
  } catch (std::bad_alloc const&) {
    errors << "thrum trace: " << options.file << ": there is not enough memory for a file of this size\n";
  }
  return cannot_work;
}

}  // namespace thrum::command
