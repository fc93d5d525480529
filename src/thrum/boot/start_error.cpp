#include "boot/start_error.h"

#include <string>
#include <system_error>

namespace thrum::rt {

void throw_system_error(int error, char const* what) {
  throw std::system_error(error, std::generic_category(), std::string("thrum::run: ") + what);
}

}  // namespace thrum::rt
