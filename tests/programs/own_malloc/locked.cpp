// The simplest malloc of a program's own: that of the C library under one lock.
#include "own_malloc.h"

extern "C" void* malloc(std::size_t bytes) noexcept {
  ::pthread_mutex_lock(&own_malloc::lock);
  void* const got = __libc_malloc(bytes);
  own_malloc::on_malloc(bytes);
  ::pthread_mutex_unlock(&own_malloc::lock);
  return got;
}

extern "C" void free(void* gone) noexcept {
  ::pthread_mutex_lock(&own_malloc::lock);
  __libc_free(gone);
  ::pthread_mutex_unlock(&own_malloc::lock);
}
