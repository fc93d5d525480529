// Goroutine records without a scheduler, for tests of queues. They are numbered from 0.
#pragma once

#include "core/entry.h"
#include "core/g.h"
#include "support/push_key.h"

#include <cstddef>
#include <memory>
#include <vector>

namespace thrum::test {

class fake_gs {
 public:
  explicit fake_gs(std::size_t count) : gs_(std::make_unique<rt::G[]>(count)) {
    for (std::size_t i = 0; i < count; ++i) gs_[i].id = i;
  }

  rt::G& operator[](std::size_t index) { return gs_[index]; }
  rt::entry plain(std::size_t index) { return rt::entry::plain(&gs_[index]); }

  // A joinable goroutine that has not started, as spawn makes it: one reference for its run, one for its handle.
  rt::entry claimable(std::size_t index) {
    gs_[index].status.store(rt::g_status::unstarted, rt::relaxed);
    gs_[index].is_joinable = true;
    gs_[index].references.store(2, rt::relaxed);
    return rt::entry::claimable(&gs_[index]);
  }

 private:
  std::unique_ptr<rt::G[]> gs_;
};

// The number of the G that an entry names; -1 for the empty entry.
inline long number_of(rt::entry e) { return e ? static_cast<long>(e.g()->id) : -1; }

// from, from + 1, ..., to - 1.
inline std::vector<long> numbers(long from, long to) {
  std::vector<long> result;
  for (long i = from; i < to; ++i) result.push_back(i);
  return result;
}

inline std::vector<long> operator+(std::vector<long> left, std::vector<long> const& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

}  // namespace thrum::test
