// Shared objects that were loaded after the list of loaded code was made (os/loaded_code.h). The loader is asked about
// them each time.
//
// glibc has a table for unwinders, in two copies of which one is always complete. It is read without a lock. So it can
// be read in a signal handler, also in one that has interrupted dlopen, and while goroutines are paused. thrum does not
// have to be told about a dlopen.
//
// Reading the loader's list once more does not work. dl_iterate_phdr waits for a lock that a goroutine may hold while
// it is paused in its callback. sysmon must not wait for that lock, and neither must the thread maker, because the
// goroutine may need a thread that the thread maker has to make (T01). A goroutine that is stopped there at the end of
// a run never releases the lock.
//
// glibc before 2.35 has no such table. There, code that is loaded later has code_owner::none until the next run.
#pragma once

#include <cstdint>

#include <dlfcn.h>

// bits/dl_find_object.h defines this macro, as 0 or 1. It is tested instead of glibc's version, because some
// distributions have the table in an older glibc.
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
  // Belongs to the loader and becomes invalid when the object is unloaded. Use it only for an object that cannot be
  // unloaded meanwhile, because its code is running.
  char const* const* path = nullptr;
};

// Finds the object at this address. False if there is none. May be called anywhere, also in a signal handler.
[[nodiscard]] bool find_object(std::uintptr_t address, loaded_object& found) noexcept;

// Whether this address of the object lies in an executable segment. The object may be unloaded meanwhile. Returns true
// if the kernel forbids reading it. May be called anywhere but in a signal handler.
[[nodiscard]] bool is_executable(loaded_object const& object, std::uintptr_t address) noexcept;

}  // namespace thrum::rt::os
