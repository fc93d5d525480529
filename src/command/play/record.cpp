#include "command/play/record.h"

#include "command/trace/text.h"
#include "command/trace/trace.h"

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include <unistd.h>

namespace thrum::command {
namespace {

// A file that is removed at the end.
class temporary_file {
 public:
  temporary_file() : name_((std::filesystem::temp_directory_path() / "thrum-play-XXXXXX").string()) {
    int const fd = ::mkstemp(name_.data());
    if (fd < 0) throw std::system_error(errno, std::generic_category(), "cannot make a temporary file " + name_);
    ::close(fd);
  }
  ~temporary_file() { ::unlink(name_.c_str()); }
  temporary_file(temporary_file const&) = delete;
  temporary_file& operator=(temporary_file const&) = delete;

  [[nodiscard]] std::string const& name() const noexcept { return name_; }

 private:
  std::string name_;
};

told_statement told(statement const& one, scenario const& of) {
  told_statement made{static_cast<std::uint64_t>(one.at.line), one.text};
  switch (one.what) {
    case verb::send:
    case verb::recv:
      made.place = "channel ";
      made.place += of.channels[one.target].name;
      made.kind_of_place = "chan";
      break;
    case verb::lock:
      made.place = "mutex ";
      made.place += of.mutexes[one.target];
      made.kind_of_place = "mutex";
      break;
    case verb::block:
      made.place = "nothing";
      made.kind_of_place = "chan";
      break;
    default: break;
  }
  return made;
}

void tell(std::vector<statement> const& all, scenario const& of, told_program& to) {
  for (statement const& one : all) {
    to.statements[label_of(one)] = told(one, of);
    tell(one.block, of, to);
  }
}

told_program told(scenario const& what, std::string const& file, performance const& how) {
  told_program made;
  made.file = file;
  made.lines = what.lines;
  made.queue_size = static_cast<std::size_t>(what.queue);
  made.until_monotonic_ns = std::chrono::nanoseconds(how.until.time_since_epoch()).count();
  for (body const& each : what.bodies) tell(each.statements, what, made);
  made.story = how.why.empty() ? "All goroutines have ended." : how.why + '.';
  if (how.why.empty()) return made;
  made.last_words = how.why;
  for (std::size_t i = 0; i < how.still_there.size(); ++i) {
    made.last_words += i == 0 ? ". Still there: " : "; ";
    made.last_words += how.still_there[i];
  }
  return made;
}

}  // namespace

played play_and_record(scenario const& what, std::string const& file) {
  temporary_file const kept;
  played made;
  made.how = perform(what, kept.name());
  trace const of = analyse(read_trace_file(kept.name()));
  made.shown = as_recording(of, file, told(what, file, made.how));
  return made;
}

}  // namespace thrum::command
