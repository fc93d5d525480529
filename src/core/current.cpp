#include "core/current.h"

// `used`: named only inside asm, it would be dropped or renamed by link-time optimisation.
__attribute__((used)) constinit thread_local thrum::rt::M* thrum_current_m __attribute__((tls_model("initial-exec"))) =
    nullptr;

namespace thrum::rt {

constinit higher_hooks m_hooks{nullptr, nullptr, []() noexcept -> M* { return nullptr; }};

void set_current_m(M* m) noexcept { thrum_current_m = m; }
M** own_m_place() noexcept { return &thrum_current_m; }

}  // namespace thrum::rt
