// local<T>: a variable of which every goroutine has its own.
//
//   thrum::local<int> depth;          // usually a static or a member that outlives its users
//   *depth += 1;                      // this goroutine's value, value-initialised at first use
//
// It is for goroutines what thread_local is for threads. A goroutine moves between threads, so a thread_local would
// change unexpectedly. A value lives until its goroutine ends. Each access searches the list of the goroutine's locals,
// so it is meant for a handful of them.
#pragma once

#include <thrum/detail/at_least_cxx20.h>
#include <thrum/detail/local_value.h>

namespace thrum {

template <class T>
class local {
 public:
  local() : key_(detail::new_local_key()) {}
  local(local const&) = delete;
  local& operator=(local const&) = delete;

  // This goroutine's value. Throws std::logic_error outside a goroutine.
  T& get() const {
    if (auto* const found = detail::find_local(key_)) return static_cast<value*>(found)->held;
    auto* const made = new value{{key_, nullptr, &destroy}, T()};
    detail::add_local(made);
    return made->held;
  }
  T& operator*() const { return get(); }
  T* operator->() const { return &get(); }

 private:
  struct value : detail::local_value {
    T held;
  };
  static void destroy(detail::local_value* gone) noexcept { delete static_cast<value*>(gone); }

  std::uint64_t key_;
};

}  // namespace thrum
