#include "command/trace/write_file.h"

#include <cerrno>
#include <fstream>
#include <ostream>
#include <system_error>

namespace thrum::command {

bool write_file(std::string_view command, std::string const& path, std::ostream& errors,
                std::function<void(std::ostream&)> const& write) {
  errno = 0;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  if (file) write(file);
  file.close();
  if (file) return true;
  errors << command << ": cannot write " << path << ": " << std::generic_category().message(errno) << "\n";
  return false;
}

}  // namespace thrum::command
