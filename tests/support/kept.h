// An object that is never destroyed, so that goroutines and threads that outlive their run can use it. It is reachable
// from here, so leak checkers do not report it.
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
