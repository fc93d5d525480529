// Which code of this process belongs to the C library and its kin, and which does not.
//
// A thread that is stopped inside malloc, stdio, the loader or the unwinder may hold a lock there that the rest of the
// program needs (T03). Code that is loaded when a run begins is in a list. The loader is asked about code that is
// loaded later (os/late_code.h).
//
// No function but note_loaded_code takes a lock. None allocates.
#pragma once

#include <cstdint>

namespace thrum::rt::os {

enum class code_owner : std::uint8_t {
  none,      // not code, or code that the loader did not map, for example that of a JIT compiler
  program,   // the executable and its libraries
  libc_kin,  // C library, loader, C++ runtime, unwinder, malloc library: a thread must not be stopped there
  kernel,    // the vDSO, which reads the time; an allocator may be calling it with its lock held
};

// Reads the loader's list of objects, under the loader's lock. It is called before any goroutine of a run runs, by one
// thread at a time.
void note_loaded_code() noexcept;

// Whether malloc is linked into the executable. If so, it is unknown in which code its locks are held. May be called
// anywhere, also in a signal handler.
[[nodiscard]] bool libc_is_in_the_program() noexcept;

// What the loader has added to the addresses in the executable's file; 0 if it is not position-independent. The kernel
// tells it, so this takes no lock. May be called anywhere, also in a signal handler.
[[nodiscard]] std::uintptr_t load_bias_of_executable() noexcept;

// Says that the malloc in the executable only calls that of the C library. Has to be called before note_loaded_code.
void trust_the_programs_malloc() noexcept;

// The owner of code that is running, so that its object is not unloaded meanwhile. May be called anywhere, also in a
// signal handler.
[[nodiscard]] code_owner owner_of_code(std::uintptr_t address) noexcept;

// The same questions about a word of a stack, which may have any value. Objects that were loaded later may be unloaded
// meanwhile, so their names are not read. So if such an object belongs to the kin of the C library and only its name
// shows that, it counts as the program. May be called anywhere but in a signal handler.
[[nodiscard]] bool is_code(std::uintptr_t word) noexcept;
[[nodiscard]] bool is_code_of_the_program(std::uintptr_t word) noexcept;

}  // namespace thrum::rt::os
