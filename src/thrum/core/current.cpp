#include "core/current.h"

#include "core/forked.h"
#include "core/p.h"
#include "os/chaos.h"

// `used`: the variable is named only inside asm, so link-time optimisation would drop or rename it.
__attribute__((used)) constinit thread_local thrum::rt::M* thrum_current_m __attribute__((tls_model("initial-exec"))) =
    nullptr;

namespace thrum::rt {

constinit atomic<bool> is_forked_inside_run{false};

constinit higher_hooks m_hooks{nullptr, nullptr, nullptr, nullptr, []() noexcept -> M* { return nullptr; }};

void set_current_m(M* m) noexcept { thrum_current_m = m; }
M** address_of_current_m() noexcept { return &thrum_current_m; }

void end_slice_by_chance(M& m) noexcept {
  if (!os::chaos_ends_slice() || m.current == nullptr || m.p == nullptr) return;
  m.pause.ask_for(m.p->schedtick.load(relaxed));  // as sysmon does (sys/slices.cpp)
  m.attention.fetch_or(m_attend::pause, relaxed);
}

}  // namespace thrum::rt
