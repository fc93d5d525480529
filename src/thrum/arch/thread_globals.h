// The per-thread state of the C and C++ libraries that belongs to the goroutine in thrum: errno and the exception
// globals.
//
// Each thread has its own addresses for them. An M asks for its addresses once, when it starts, and the runtime reaches
// them through the M. So no compiler can keep the address of the wrong thread across a switch. A goroutine that leaves
// its thread keeps the values in its own frame and stores them to the thread on which it continues, because it may park
// inside a catch block or while its destructors run.
#pragma once

namespace thrum::rt {

// The layout of what __cxa_get_globals returns, in libstdc++ and libc++abi (Itanium C++ ABI, 2.2.2).
struct exception_globals {
  void* caught;
  unsigned uncaught;
};

struct thread_globals {
  exception_globals* exceptions = nullptr;
  int* error = nullptr;

  static thread_globals of_this_thread() noexcept;
};

// The values of one goroutine. They are on its own stack while it has left its thread.
struct goroutine_globals {
  exception_globals exceptions{nullptr, 0};
  int error = 0;

  static goroutine_globals saved_from(thread_globals const& thread) noexcept {
    return {*thread.exceptions, *thread.error};
  }
  void restore_to(thread_globals const& thread) const noexcept {
    *thread.exceptions = exceptions;
    *thread.error = error;
  }
};

}  // namespace thrum::rt
