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

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace thrum::command {
namespace {

// A file without a name of its own, so nothing is left of it however the program ends.
class unnamed_file {
 public:
  unnamed_file() : fd_(open_in(std::filesystem::temp_directory_path().string())) {}
  ~unnamed_file() { ::close(fd_); }
  unnamed_file(unnamed_file const&) = delete;
  unnamed_file& operator=(unnamed_file const&) = delete;

  // By this name it can be opened again while this object lives.
  [[nodiscard]] std::string name() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  static int open_in(std::string const& folder) {
    int fd = ::open(folder.c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (fd >= 0) return fd;
    std::string name = folder + "/thrum-play-XXXXXX";  // the file system has no files without a name
    fd = ::mkostemp(name.data(), O_CLOEXEC);
    if (fd < 0) throw std::system_error(errno, std::generic_category(), "cannot make a temporary file " + name);
    ::unlink(name.c_str());
    return fd;
  }

  int const fd_;
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
  unnamed_file const kept;
  played made;
  made.how = perform(what, kept.name());
  trace const of = analyse(read_trace_file(kept.name()));
  made.shown = as_recording(of, file, told(what, file, made.how));
  return made;
}

}  // namespace thrum::command
