// An object that is never destroyed: goroutines and threads that outlive their run may use it for good. It can always be
// reached from here, so it is no leak.
#pragma once

#include <mutex>
#include <utility>
#include <vector>

namespace thrum::test {

template <class T, class... Arguments>
[[nodiscard]] T& kept(Arguments&&... arguments) {
  static std::mutex lock;
  static auto& all = *new std::vector<T*>;
  std::lock_guard const guard(lock);
  all.push_back(new T(std::forward<Arguments>(arguments)...));
  return *all.back();
}

}  // namespace thrum::test
