#include "os/shared_library.h"

#include <cstddef>

#include <dlfcn.h>
#include <link.h>

namespace thrum::rt::os {

bool program_is_static() noexcept {
  bool names_a_loader = false;
  ::dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* out) {
        for (unsigned i = 0; i < object->dlpi_phnum; ++i) {
          if (object->dlpi_phdr[i].p_type == PT_INTERP) *static_cast<bool*>(out) = true;
        }
        return 1;  // ends the iteration, because the program is the first object
      },
      &names_a_loader);
  return !names_a_loader;
}

void* load_library(char const* file) noexcept {
  return program_is_static() ? nullptr : ::dlopen(file, RTLD_LAZY | RTLD_LOCAL);
}

}  // namespace thrum::rt::os
