// Records of one type in chunks of mapped memory. The memory is not given back before the slab is destroyed, so that a
// stale pointer points at a record. Not synchronised: the user holds a lock.
#pragma once

#include "os/memory.h"

#include <cstddef>
#include <new>

namespace thrum::rt {

struct debugger_rows;

template <class T>
class slab {
  // the debugger finds its way by the offsets of members: see debug/debugger_table.h
  friend struct debugger_rows;
  struct chunk;

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

  // Returns a new record, or nullptr if there is no memory.
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

  // A walk over all records that exist when it begins. It can be interrupted; each call is made under the lock.
  class walk {
    friend slab;
    chunk* at_ = nullptr;
    std::size_t index_ = 0;
  };
  [[nodiscard]] walk begin_walk() const noexcept {
    walk from_the_newest;
    from_the_newest.at_ = chunks_;
    return from_the_newest;
  }
  // Returns the next record, or nullptr after the last one.
  [[nodiscard]] T* step(walk& w) noexcept {
    while (w.at_ != nullptr && w.index_ == w.at_->used) {
      w.at_ = w.at_->next;
      w.index_ = 0;
    }
    return w.at_ == nullptr ? nullptr : std::launder(reinterpret_cast<T*>(w.at_->record(w.index_++)));
  }

  // Leaves the memory mapped for good, because something outside may point into it.
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
