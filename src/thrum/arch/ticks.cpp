#include "arch/ticks.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace thrum::rt {

bool counter_is_steady() noexcept {
#if defined(__x86_64__)
  constexpr unsigned power_management = 0x8000'0007;
  constexpr unsigned invariant_counter = 1U << 8U;
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __get_cpuid(power_management, &a, &b, &c, &d) != 0 && (d & invariant_counter) != 0;
#else
  return true;
#endif
}

}  // namespace thrum::rt
