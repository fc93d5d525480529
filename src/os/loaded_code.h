// Where the code of this process lies: in the C library and its kin, or elsewhere.
//
// A thread that is stopped inside malloc, stdio, the loader or the unwinder may hold a lock there that everybody needs (T03).
// What is there when a run begins stands in a list; for what is loaded later the loader is asked (os/late_code.h).
#pragma once

#include <cstdint>

namespace thrum::rt::os {

enum class code_owner : std::uint8_t {
  nobody,    // not code, or mapped by somebody else than the loader, a JIT compiler for example
  program,   // the executable and its libraries
  libc_kin,  // the C library, the loader, the C++ runtime, the unwinder, a malloc library: must not be stopped in
  kernel,    // its vDSO, where the time is read: by an allocator perhaps, with its lock held
};

// Reads the list of loaded objects, under the loader's lock: before any goroutine runs. One at a time.
void note_loaded_code() noexcept;

// Whether malloc is linked into the executable: then nobody can tell where its locks are held. In a signal handler, too.
[[nodiscard]] bool libc_is_in_the_program() noexcept;

// It is, but only passes on to the C library's. Before note_loaded_code.
void trust_the_programs_malloc() noexcept;

// Of code that runs: so its object is not unloaded meanwhile. May be called anywhere, also in a signal handler.
[[nodiscard]] code_owner owner_of_code(std::uintptr_t address) noexcept;

// The same questions for a word of a stack, which may be anything. Objects that were loaded later may go while they are looked at: so
// their names are not asked for, and of these the C library's kin counts as the program. Anywhere but in a signal handler.
[[nodiscard]] bool is_code(std::uintptr_t word) noexcept;
[[nodiscard]] bool is_code_of_the_program(std::uintptr_t word) noexcept;

}  // namespace thrum::rt::os
