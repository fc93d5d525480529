// Records that outlive every static object which might still own one: their memory is never unmapped.
#pragma once

#include "core/slab.h"
#include "os/lock.h"

namespace thrum::rt {

template <class T>
struct immortal_store {
  os::lock lock{lock_rank::leaf};
  // under lock
  slab<T> all;
  T* free = nullptr;  // linked as T likes it

  ~immortal_store() { all.abandon(); }
};

}  // namespace thrum::rt
