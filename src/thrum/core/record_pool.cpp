#include "core/record_pool.h"

namespace thrum::rt {
namespace {

constexpr std::uint32_t gs_per_reservation = 1024;

}  // namespace

record_pool::taken_gs record_pool::take_gs(std::span<G*> into) noexcept {
  os::lock_guard const guard(lock_);
  std::uint32_t count = 0;
  while (count < into.size() && dead_gs_.size() != 0) into[count++] = reinterpret_cast<G*>(dead_gs_.pop());
  while (count < into.size() && gs_made_ < gs_reserved_) {
    G* const fresh = gs_.make();
    if (fresh == nullptr) break;
    fresh->transition(g_status::idle, g_status::dead);
    into[count++] = fresh;
    ++gs_made_;
  }
  bool const needs_room = count == 0 && gs_made_ == gs_reserved_;
  return {count, needs_room ? gs_reserved_ + gs_per_reservation : 0};
}

bool record_pool::reserve(std::uint32_t gs) noexcept {
  os::lock_guard const guard(lock_);
  if (!dead_gs_.reserve(gs)) return false;
  if (gs_reserved_ < gs) gs_reserved_ = gs;
  return true;
}

void record_pool::put_gs(std::span<G* const> dead) noexcept {
  os::lock_guard const guard(lock_);
  for (G* const g : dead) dead_gs_.push(reinterpret_cast<std::uintptr_t>(g));
}

sudog* record_pool::take_sudog(sudog_list& cache, std::uint32_t count) noexcept {
  os::lock_guard const guard(lock_);
  while (cache.size() < count) {
    sudog* const one = free_sudogs_.pop();
    if (one == nullptr) break;
    cache.push(one);
  }
  sudog* const one = cache.pop();
  return one != nullptr ? one : sudogs_.make();
}

void record_pool::put_sudogs(sudog_list& cache, std::uint32_t count) noexcept {
  os::lock_guard const guard(lock_);
  while (cache.size() > count) free_sudogs_.push(cache.pop());
}

}  // namespace thrum::rt
