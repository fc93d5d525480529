#include "command/target/command.h"

#include "command/target/connection.h"
#include "command/target/figures.h"
#include "command/trace/text.h"

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <ostream>
#include <string_view>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <unistd.h>

namespace thrum::command {
namespace {

constexpr int seconds_for_figures = 10;
constexpr int seconds_for_names = 120;  // the process looks them up in its debug information
constexpr std::size_t name_columns = 34;

figures ask_for_figures(connection& to, bool procs) {
  figures all(to.ask("stats", seconds_for_figures));
  return procs ? all : all.with_sums_of_procs();
}

std::string as_json(figures const& all) {
  std::string text = "{";
  for (auto const& [name, value] : all.all()) {
    text += text.size() > 1 ? ",\n \"" : "\n \"";
    text += name + "\": ";
    text += is_number(value) ? value : '"' + value + '"';
  }
  return text + "\n}\n";
}

// With the rates since `before`, unless it is nullptr.
std::string as_table(figures const& now, figures const* before) {
  std::string text;
  for (auto const& [name, value] : now.all()) {
    std::string const shown = name.ends_with("_ns") && is_number(value) && name != "time_ns"
                                  ? duration(static_cast<double>(now.number(name)))
                                  : value;
    text += fitted(name, name_columns) + command::text("%16s", shown.c_str());
    if (before != nullptr && is_counter(name)) text += command::text("%14.1f /s", rate(*before, now, name));
    text += '\n';
  }
  return text;
}

// A file that is closed when the object goes. The exception says why it cannot be written. What is in it stays, because
// another process may be writing a trace to it. The one that is asked for a trace empties it, if it can have it alone.
class output_file {
 public:
  explicit output_file(std::string const& path)
      : path_(path), fd_(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644)) {
    if (fd_ < 0) throw target_error("cannot write " + path + ": " + std::generic_category().message(errno));
  }
  ~output_file() { ::close(fd_); }
  output_file(output_file const&) = delete;
  output_file& operator=(output_file const&) = delete;
  [[nodiscard]] int fd() const noexcept { return fd_; }

  void replace_by(std::string_view bytes) const {
    bool is_fine = ::ftruncate(fd_, 0) == 0;
    while (is_fine && !bytes.empty()) {
      auto const count = ::write(fd_, bytes.data(), bytes.size());
      is_fine = count > 0;
      if (is_fine) bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    if (!is_fine) throw target_error("cannot write " + path_ + ": " + std::generic_category().message(errno));
  }

 private:
  std::string const path_;
  int const fd_;
};

}  // namespace

int run_dump(dump_options const& options, std::ostream& out) {
  connection to(options.target);
  std::string request = "dump";
  if (options.grouped) request += " grouped";
  if (options.leaks) request += " leaks";
  if (options.json) request += " json";
  out << to.ask(request, seconds_for_names) << std::flush;
  return out ? fine : cannot_work;
}

int run_stats(stats_options const& options, std::ostream& out) {
  connection to(options.target);
  figures before = ask_for_figures(to, options.procs);
  if (options.watch_seconds <= 0) {
    out << (options.json ? as_json(before) : as_table(before, nullptr)) << std::flush;
    return out ? fine : cannot_work;
  }
  while (out) {
    std::this_thread::sleep_for(std::chrono::duration<double>(options.watch_seconds));
    figures now = ask_for_figures(to, options.procs);
    out << (options.json ? as_json(now) : as_table(now, &before)) << '\n' << std::flush;
    before = std::move(now);
  }
  return cannot_work;
}

int run_record(record_options const& options, std::ostream& out) {
  connection to(options.target);
  output_file const file(options.file);
  static_cast<void>(to.ask("trace " + std::to_string(options.seconds), options.seconds + seconds_for_names, file.fd()));
  out << "wrote " << options.file << '\n' << std::flush;
  return out ? fine : cannot_work;
}

int run_profile(profile_options const& options, std::ostream& out) {
  connection to(options.target);
  output_file const file(options.file);  // before the time that the profile takes
  bool const takes_time = options.kind != "goroutines";
  std::string const request = "profile " + options.kind + (takes_time ? ' ' + std::to_string(options.seconds) : "");
  file.replace_by(to.ask(request, (takes_time ? options.seconds : 0) + seconds_for_names));
  out << "wrote " << options.file << '\n' << std::flush;
  return out ? fine : cannot_work;
}

}  // namespace thrum::command
