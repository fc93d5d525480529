#include "debug/whole_file.h"

#include "os/files.h"

#include <cerrno>
#include <cstddef>

namespace thrum::rt {

file_error write_whole_file(std::string const& path, std::string_view contents) noexcept {
  constexpr unsigned permissions = 0644;
  int const fd = os::open_to_write(path.c_str(), permissions);
  if (fd < 0) return {-fd, "open"};
  int error = 0;
  for (std::size_t done = 0; error == 0 && done < contents.size();) {
    long const written = os::write_at(fd, contents.data() + done, contents.size() - done, done);
    if (written > 0) {
      done += static_cast<std::size_t>(written);
    } else if (written != -EINTR) {
      error = written == 0 ? EIO : static_cast<int>(-written);
    }
  }
  int const closed = os::close_file(fd);
  return {error != 0 ? error : -closed, "write"};
}

}  // namespace thrum::rt
