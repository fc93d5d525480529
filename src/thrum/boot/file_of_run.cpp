#include "boot/file_of_run.h"

#include "os/thread.h"

#include <cstddef>

namespace thrum::rt {

std::string file_of_run(std::string_view pattern, atomic<int>& files) {
  std::string name;
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    char const next = pattern[at] == '%' && at + 1 < pattern.size() ? pattern[at + 1] : '\0';
    if (next == 'p') name += std::to_string(os::process_id());
    if (next == '%') name += '%';
    if (next == 'p' || next == '%') {
      ++at;
    } else {
      name += pattern[at];
    }
  }
  int const number = files.fetch_add(1, relaxed) + 1;
  return number == 1 ? name : name + "." + std::to_string(number);
}

}  // namespace thrum::rt
