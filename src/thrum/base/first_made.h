// A value of the whole process that its first user makes, without a lock. It is never destroyed.
//
// A function-local static does not work. It has a guard on which other users wait while the first user initialises the
// value. The end of a run may stop that first user, a goroutine, for good at any instruction of the initialiser. The
// guard then stays held, and every user in a later run waits for ever.
//
// With this class no user waits. Each user that finds no value makes one, the first user to publish its value wins, and
// the other users destroy theirs. So `make` may run several times, also at the same time, and must not depend on being
// the only call.
//
// No function takes a lock. `make` runs on its caller's stack, outside the runtime, and may allocate and throw.
#pragma once

#include "base/atomic.h"

#include <memory>

namespace thrum::rt {

template <class T>
class first_made {
 public:
  constexpr first_made() noexcept = default;
  first_made(first_made const&) = delete;
  first_made& operator=(first_made const&) = delete;

  [[nodiscard]] T* get_if_made() const noexcept { return made_.load(acquire); }  // pairs with publish's release

  // Returns the published value, which is `mine` if no value had been published.
  T& publish(std::unique_ptr<T> mine) noexcept {
    T* found = nullptr;
    // release pairs with get_if_made, whose caller sees a complete value
    // acquire on failure pairs with the release of the user whose value this caller gets
    return made_.compare_exchange(found, mine.get(), acq_rel, acquire) ? *mine.release() : *found;
  }

  // `make` returns a std::unique_ptr<T>.
  template <class Make>
  [[nodiscard]] T& get(Make make) {
    T* const found = get_if_made();
    return found != nullptr ? *found : publish(make());
  }

 private:
  atomic<T*> made_{nullptr};
};

}  // namespace thrum::rt
