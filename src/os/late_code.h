// Objects that were loaded after the list of loaded code was made (os/loaded_code.h): the loader is asked for them, each time.
//
// glibc keeps a table for unwinders, in two copies of which one is always whole. It is read without a lock: in a signal handler, also
// in one that has interrupted dlopen, and beside any number of paused goroutines. So nobody has to learn of a dlopen.
//
// What does not work is to read the loader's list again. dl_iterate_phdr waits for a lock that a goroutine may hold, paused in a
// callback of its own: sysmon must not wait for that, nor the thread maker, since this goroutine's turn may depend on a thread that it
// is to make (T01). One that is stopped there at the end of a run never gives it back.
//
// Before glibc 2.35 there is no such table: what is loaded later is nobody's until the next run.
#pragma once

#include <cstdint>

#include <dlfcn.h>

// bits/dl_find_object.h defines it, to 0 or 1. Some distributions have the table in an older glibc.
#ifdef DLFO_STRUCT_HAS_EH_DBASE
#define THRUM_LOADER_CAN_BE_ASKED 1
#else
#define THRUM_LOADER_CAN_BE_ASKED 0
#endif

namespace thrum::rt::os {

inline constexpr bool loader_can_be_asked = THRUM_LOADER_CAN_BE_ASKED != 0;

struct loaded_object {
  std::uintptr_t low = 0;
  std::uintptr_t high = 0;
  // Is the loader's, and goes when the object does: only for one that cannot be unloaded now, because its code runs.
  char const* const* path = nullptr;
};

// Anywhere, also in a signal handler. False: there is none at this address.
[[nodiscard]] bool find_object(std::uintptr_t address, loaded_object& found) noexcept;

// Whether this address of the object lies in a part that can be executed. The object may be unloaded meanwhile. If nobody can
// tell, true. Anywhere but in a signal handler.
[[nodiscard]] bool is_executable(loaded_object const& object, std::uintptr_t address) noexcept;

}  // namespace thrum::rt::os
