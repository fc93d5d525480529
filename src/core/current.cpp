#include "core/current.h"

// `used`: named only inside asm, it would be dropped or renamed by link-time optimisation.
__attribute__((used)) constinit thread_local thrum::rt::M* thrum_current_m __attribute__((tls_model("initial-exec"))) =
    nullptr;

namespace thrum::rt {

constinit attention_hooks m_hooks{nullptr, nullptr};

void set_current_m(M* m) noexcept { thrum_current_m = m; }

}  // namespace thrum::rt
