// A malloc that is part of the program, with one lock. The runtime cannot tell whether a goroutine that it is about to
// pause holds the lock.
//
// The tests are programs of their own without GoogleTest, because its threads and reports need malloc as well. They
// exit with 0, or print what is wrong.
#pragma once

#include <cstddef>
#include <cstring>

#include <pthread.h>
#include <unistd.h>

extern "C" void* __libc_malloc(std::size_t bytes);
extern "C" void __libc_free(void* gone);

namespace own_malloc {

inline pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

// Called by the malloc of locked.cpp while it holds the lock. A test sets it before the first goroutine allocates.
inline void (*on_malloc)(std::size_t bytes) noexcept = [](std::size_t) noexcept {};

inline void spin(long rounds) {
  for (long i = 0; i < rounds; ++i) {
    asm volatile("");
  }
}

// Without malloc.
[[noreturn]] inline void fail(char const* what) {
  static_cast<void>(!::write(STDERR_FILENO, what, std::strlen(what)));
  ::_exit(1);
}

}  // namespace own_malloc
