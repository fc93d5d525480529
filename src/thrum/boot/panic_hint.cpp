#include "base/check.h"
#include "boot/panic.h"
#include "core/m.h"

#include <system_error>

namespace thrum::rt {

// A lock of the C library that belongs to its thread cannot tell two goroutines of one thread apart.
void print_panic_hint(M const& m) noexcept {
  try {
    throw;
  } catch (std::system_error const& e) {
    if (e.code() != std::errc::resource_deadlock_would_occur || !m.residents.any()) return;
    print_error(
        "\thint: another goroutine of this thread waits in a call of thrum::posix, perhaps while it holds that lock. A "
        "std::shared_mutex belongs to its thread: use thrum::shared_mutex, or unlock it before calls that wait");
  } catch (...) {  // an exception of another kind
  }
}

}  // namespace thrum::rt
