// The C and C++ libraries' per-thread state that in thrum belongs to the goroutine: errno and the exception globals.
//
// Their addresses are a thread's; they are asked for once, when an M starts, and reached through the M ever after, so no
// compiler can carry a stale address across a switch. A goroutine that leaves keeps the values in its own frame and puts
// them back wherever it arrives: a goroutine may park inside a catch block or while its destructors run.
#pragma once

namespace thrum::rt {

// libstdc++'s and libc++abi's layout of what __cxa_get_globals answers (Itanium C++ ABI, 2.2.2).
struct exception_globals {
  void* caught;
  unsigned uncaught;
};

struct thread_globals {
  exception_globals* exceptions = nullptr;
  int* error = nullptr;

  static thread_globals of_this_thread() noexcept;
};

// What a goroutine carries: kept on its own stack while it is away.
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
