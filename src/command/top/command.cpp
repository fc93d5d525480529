#include "command/top/command.h"

#include "command/top/screen.h"
#include "command/top/source.h"
#include "command/top/view.h"

#include <algorithm>
#include <chrono>
#include <ostream>
#include <thread>

namespace thrum::command {
namespace {

constexpr std::size_t rows_of_text = 1000;
constexpr std::size_t columns_of_text = 160;

int print_once(top_source& source, double seconds, std::ostream& out) {
  top_view view(source.name());
  source.refresh(view);
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  source.refresh(view);
  for (top_line const& each : view.lines(rows_of_text, columns_of_text)) {
    std::string_view const text = each.text;
    out << text.substr(0, text.find_last_not_of(' ') + 1) << '\n';
  }
  out << std::flush;
  return out ? fine : cannot_work;
}

}  // namespace

int run_top(top_options const& options, std::ostream& out) {
  top_source source(options.target);
  return options.once ? print_once(source, options.seconds, out) : show_on_terminal(source, options.seconds);
}

}  // namespace thrum::command
