#include "command/top/screen.h"

namespace thrum::command {

int show_on_terminal(top_source&, double) {
  throw target_error(
      "top is left out, because ncurses was not found when this program was built (Debian: libncurses-dev); `thrum top "
      "--once` works without it");
}

}  // namespace thrum::command
