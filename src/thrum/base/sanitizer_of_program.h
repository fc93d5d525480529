// What happens if the program was compiled with a sanitizer and thrum was not.
//
// AddressSanitizer works. thrum has to tell it about every switch between stacks and about frames that are left without
// their epilogues. Its functions are weak symbols here. They are null unless the program is linked with it, so a
// program without it pays a load and a branch per switch.
//
// ThreadSanitizer does not work, because it derives the order of events from atomics that it has instrumented, and
// thrum's are not instrumented. Such a program is ended with a message when its first run begins
// (boot/run_services.cpp).
#pragma once

#include "base/platform.h"

#include <cstddef>

#if !THRUM_ASAN && !THRUM_TSAN
#define THRUM_PROGRAM_MAY_HAVE_ASAN 1
extern "C" {
[[gnu::weak]] void __sanitizer_start_switch_fiber(void** fake_stack_save, void const* bottom, std::size_t size);
[[gnu::weak]] void __sanitizer_finish_switch_fiber(void* fake_stack_save, void const** bottom_old,
                                                   std::size_t* size_old);
[[gnu::weak]] void* __asan_region_is_poisoned(void* begin, std::size_t size);
[[gnu::weak]] void __asan_unpoison_memory_region(void const volatile* begin, std::size_t size);
[[gnu::weak]] void __asan_handle_no_return();
[[gnu::weak]] void __lsan_register_root_region(void const* begin, std::size_t size);
[[gnu::weak]] void __tsan_switch_to_fiber(void* fiber, unsigned flags);
}
#else
#define THRUM_PROGRAM_MAY_HAVE_ASAN 0
#endif

namespace thrum::rt {

#if THRUM_PROGRAM_MAY_HAVE_ASAN
inline bool program_has_asan() noexcept { return __sanitizer_start_switch_fiber != nullptr; }
inline bool program_has_tsan_alone() noexcept { return __tsan_switch_to_fiber != nullptr; }
#else
inline bool program_has_asan() noexcept { return with_asan; }
inline bool program_has_tsan_alone() noexcept { return false; }
#endif

}  // namespace thrum::rt
