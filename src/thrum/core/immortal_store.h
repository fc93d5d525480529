// Records whose memory is never unmapped, so that they outlive every static object that may own one.
#pragma once

#include "core/slab.h"
#include "os/lock.h"

namespace thrum::rt {

template <class T>
struct immortal_store {
  os::lock lock{lock_rank::leaf};
  // under lock
  slab<T> all;
  T* free = nullptr;  // the list of free records; T decides how it is linked

  ~immortal_store() { all.abandon(); }
};

}  // namespace thrum::rt
