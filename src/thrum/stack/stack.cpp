#include "stack/stack.h"

#include "os/memory.h"

#include <algorithm>
#include <cstddef>

#if THRUM_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace thrum::rt {

#if THRUM_ASAN || THRUM_PROGRAM_MAY_HAVE_ASAN
// The sanitizer's shadow memory is read first, and written only from the first poisoned byte up. Unpoisoning the whole
// stack would touch some ten pages of shadow per stack, which is 4 GiB for a hundred thousand stacks. It is read page
// by page. If a region has poison, the sanitizer searches it byte by byte for the first such byte, which takes half a
// millisecond for a whole stack.
void forget_poison_of_frames(stack const& used) noexcept {
  constexpr std::ptrdiff_t step = 4096;
  for (char* at = used.low; at < used.top; at += step) {
    auto const bytes = static_cast<std::size_t>(std::min(step, used.top - at));
    auto* const poisoned = static_cast<char*>(__asan_region_is_poisoned(at, bytes));
    if (poisoned == nullptr) continue;
    __asan_unpoison_memory_region(poisoned, static_cast<std::size_t>(used.top - poisoned));
    return;
  }
}
#else
void forget_poison_of_frames(stack const&) noexcept {}
#endif

// sysmon calls it after barriers that ThreadSanitizer does not know (sys/parked_stacks.h).
THRUM_NO_TSAN std::size_t give_back_below(stack const& parked, char const* sp) noexcept {
  constexpr std::size_t red_zone_bytes = 128;  // x86_64: leaf functions keep locals there
  auto const keep_from = reinterpret_cast<std::uintptr_t>(sp) - red_zone_bytes;
  auto const low = reinterpret_cast<std::uintptr_t>(parked.low);
  auto const end = keep_from & ~(os::page_size() - 1);
  if (end <= low || keep_from > reinterpret_cast<std::uintptr_t>(parked.top)) return 0;
  return os::give_back(parked.low, end - low) == 0 ? end - low : 0;
}

}  // namespace thrum::rt
