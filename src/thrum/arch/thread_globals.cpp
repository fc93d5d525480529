#include "arch/thread_globals.h"

#include <cerrno>

#include <cxxabi.h>

namespace thrum::rt {

thread_globals thread_globals::of_this_thread() noexcept {
  return {reinterpret_cast<exception_globals*>(__cxxabiv1::__cxa_get_globals()), &errno};
}

}  // namespace thrum::rt
