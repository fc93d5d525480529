// Objects that are destroyed at once, and a pattern in their place: what T14's stress tests share.
//
// What is destroyed is overwritten with a pattern, so that a late store shows also without AddressSanitizer; with it, a
// late load shows, too, since half of the objects live on the heap.
#pragma once

#include "base/atomic.h"
#include "support/run_at.h"
#include <thrum/go.h>
#include <thrum/wait_group.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include <gtest/gtest.h>

namespace thrum::test {

// Room for one T, filled with a pattern whenever no T is there.
template <class T>
class grave {
 public:
  grave() { fill(); }
  template <class... Args>
  T& make(Args... args) {
    return *::new (static_cast<void*>(bytes_)) T(args...);
  }
  void destroy(T& gone) {
    gone.~T();
    fill();
  }
  [[nodiscard]] bool is_undisturbed() const {
    bool same = true;
    for (std::byte const b : bytes_) same = same && b == pattern;
    return same;
  }

 private:
  static constexpr std::byte pattern{0xa7};
  void fill() { std::memset(bytes_, static_cast<int>(pattern), sizeof bytes_); }
  alignas(T) std::byte bytes_[sizeof(T)];
};

// use(object) returns when the goroutine that it waited for has let it go. Then the object is destroyed at once: on the
// heap in even rounds, in a grave in odd rounds. Returns false if the object was touched afterwards, or if use()
// returned false.
template <class T, class Use, class... Args>
bool dies_at_once(std::int64_t round, Use use, Args... args) {
  if (round % 2 == 0) {
    auto const on_heap = std::make_unique<T>(args...);
    return use(*on_heap);
  }
  grave<T> here;
  T& object = here.make(args...);
  bool const good = use(object);
  here.destroy(object);
  thrum::yield();
  return good && here.is_undisturbed();
}

inline void pause(std::int64_t round) {
  for (std::int64_t i = round * 7 % 50; i > 0; --i) rt::cpu_relax();
}

class release_at_once : public testing::TestWithParam<int> {
 protected:
  [[nodiscard]] static int procs() { return GetParam(); }
  // body(round) on several goroutines at once; false: a dead object was touched.
  template <class F>
  static void on_many(std::int64_t rounds, F body) {
    int const goroutines = 2 * procs();
    run_at(procs(), [&] {
      wait_group ended;
      for (int g = 0; g < goroutines; ++g) {
        ended.go([&, g] {
          for (std::int64_t round = g; round < rounds; round += goroutines)
            ASSERT_TRUE(body(round)) << "round " << round;
        });
      }
      ended.wait();
    });
  }
};

}  // namespace thrum::test
