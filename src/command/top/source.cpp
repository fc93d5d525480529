#include "command/top/source.h"

#include <fstream>

namespace thrum::command {
namespace {

constexpr int seconds_for_answer = 120;  // the first answer has names, which the process looks up
constexpr char const* groups_wanted = "goroutines 2000";

std::string name_of_process(std::string const& pid) {
  std::ifstream file("/proc/" + pid + "/comm");
  std::string name;
  std::getline(file, name);
  return name;
}

}  // namespace

top_source::top_source(std::string const& target) : to_(target) {
  figures const about(to_.ask("about", seconds_for_answer));
  std::string const pid(about.word("pid"));
  name_ = "process " + pid;
  if (std::string const name = name_of_process(pid); !name.empty()) name_ += " (" + name + ')';
}

void top_source::refresh(top_view& view) {
  figures now(to_.ask("stats", seconds_for_answer));
  view.take(std::move(now), groups_of(to_.ask(groups_wanted, seconds_for_answer)));
}

}  // namespace thrum::command
