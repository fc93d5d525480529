// Records of one type from chunks of mapped memory; never given back before the slab dies, so that a stale pointer still
// points at a record. Not synchronised: its user holds a lock.
#pragma once

#include "os/memory.h"

#include <cstddef>
#include <new>

namespace thrum::rt {

template <class T>
class slab {
 public:
  slab() noexcept = default;
  slab(slab const&) = delete;
  slab& operator=(slab const&) = delete;
  ~slab() {
    while (chunks_ != nullptr) {
      chunk* const next = chunks_->next;
      os::unmap(reinterpret_cast<char*>(chunks_), chunk_bytes);
      chunks_ = next;
    }
  }

  // A new record, or nullptr when no memory can be had.
  template <class... Args>
  [[nodiscard]] T* make(Args&&... args) noexcept {
    if (chunks_ == nullptr || chunks_->used == per_chunk) {
      auto const mapped = os::map(chunk_bytes);
      if (mapped.address == nullptr) return nullptr;
      auto* const fresh = ::new (mapped.address) chunk{};
      fresh->next = chunks_;
      chunks_ = fresh;
    }
    return ::new (chunks_->record(chunks_->used++)) T(args...);
  }

  template <class F>
  void for_each(F visit) noexcept {
    for (chunk* c = chunks_; c != nullptr; c = c->next) {
      for (std::size_t i = 0; i < c->used; ++i) visit(*std::launder(reinterpret_cast<T*>(c->record(i))));
    }
  }

  // The memory stays mapped for good: something out there may still point into it.
  void abandon() noexcept { chunks_ = nullptr; }

 private:
  static constexpr std::size_t chunk_bytes = 256UL * 1024;
  struct alignas(T) header {
    void* next;
    std::size_t used;
  };
  static constexpr std::size_t per_chunk = (chunk_bytes - sizeof(header)) / sizeof(T);
  struct alignas(T) chunk {
    chunk* next = nullptr;
    std::size_t used = 0;
    void* record(std::size_t index) noexcept {
      return reinterpret_cast<char*>(this) + sizeof(header) + index * sizeof(T);
    }
  };

  chunk* chunks_ = nullptr;
};

}  // namespace thrum::rt
