// Queues and stacks of words in blocks of memory that was reserved beforehand.
//
// The global run queue and the store of dead Gs hold many thousands of pointers. Walking them as intrusive lists would
// cost one cache miss after the other. Here taking a batch is a copy, and the next words are known early enough to be
// prefetched. A put never fails, because the thread that makes a G first reserves the room that the entries of this G
// can ever need.
//
// Not synchronised: each queue or stack is protected by a lock of its user.
#pragma once

#include "base/atomic.h"
#include "base/check.h"
#include "os/memory.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace thrum::rt {

struct word_block {
  static constexpr std::uint32_t capacity = 126;  // with the link, 1 KiB
  word_block* next;
  std::uint64_t unused;
  std::array<std::uintptr_t, capacity> words;
};
static_assert(sizeof(word_block) == 1024);

// Unused blocks. The pool only grows.
class block_pool {
 public:
  block_pool() noexcept = default;
  block_pool(block_pool const&) = delete;
  block_pool& operator=(block_pool const&) = delete;
  ~block_pool() {
    while (maps_ != nullptr) {
      word_block* const map = maps_;
      maps_ = map->next;
      os::unmap(reinterpret_cast<char*>(map), map_bytes);
    }
  }

  // Makes room for at least `words` in one queue or stack. Returns false if there is no memory.
  [[nodiscard]] bool reserve(std::size_t words) noexcept {
    // Two more blocks, because the first and the last block of a queue may be partly used.
    while (blocks_ < words / word_block::capacity + 3) {
      auto const mapped = os::map(map_bytes);
      if (mapped.address == nullptr) return false;
      auto* const blocks = reinterpret_cast<word_block*>(mapped.address);
      blocks->next = maps_;  // the first block of a map only links the maps
      maps_ = blocks;
      for (std::size_t i = 1; i < blocks_per_map; ++i) put(blocks + i);
      blocks_ += blocks_per_map - 1;
    }
    return true;
  }

  [[nodiscard]] word_block* take() noexcept {
    word_block* const block = free_;
    THRUM_CHECK(block != nullptr);
    free_ = block->next;
    block->next = nullptr;
    return block;
  }
  void put(word_block* block) noexcept {
    block->next = free_;
    free_ = block;
  }

 private:
  static constexpr std::size_t map_bytes = 64UL * 1024;
  static constexpr std::size_t blocks_per_map = map_bytes / sizeof(word_block);

  word_block* free_ = nullptr;
  word_block* maps_ = nullptr;
  std::size_t blocks_ = 0;
};

// First in, first out.
class word_queue {
 public:
  [[nodiscard]] bool reserve(std::size_t words) noexcept { return pool_.reserve(words); }
  [[nodiscard]] std::uint32_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

  void push(std::uintptr_t word) noexcept {
    if (tail_ == nullptr || tail_at_ == word_block::capacity) grow();
    tail_->words[tail_at_++] = word;
    ++size_;
  }

  void push_front(std::uintptr_t word) noexcept {
    if (head_ == nullptr) {
      push(word);
      return;
    }
    if (head_at_ == 0) {
      word_block* const fresh = pool_.take();
      fresh->next = head_;
      head_ = fresh;
      head_at_ = word_block::capacity;
    }
    head_->words[--head_at_] = word;
    ++size_;
  }

  // Calls visit(word) for the first `most` words, the first one first. There is no walk without a bound, because a lock
  // of the scheduler is held meanwhile.
  template <class F>
  void for_each(std::uint32_t most, F visit) const noexcept {
    std::uint32_t at = head_at_;
    word_block const* block = head_;
    for (std::uint32_t left = most < size_ ? most : size_; left > 0; --left) {
      if (at == word_block::capacity) {
        block = block->next;
        at = 0;
      }
      visit(block->words[at++]);
    }
  }

  std::uintptr_t pop() noexcept {
    if (size_ == 0) return 0;
    std::uintptr_t const word = head_->words[head_at_++];
    --size_;
    if (head_at_ == word_block::capacity || size_ == 0) shrink();
    return word;
  }

 private:
  void grow() noexcept {
    word_block* const fresh = pool_.take();
    if (tail_ == nullptr) {
      head_ = fresh;
      head_at_ = 0;
    } else {
      tail_->next = fresh;
    }
    tail_ = fresh;
    tail_at_ = 0;
  }
  void shrink() noexcept {
    word_block* const emptied = head_;
    head_ = emptied->next;
    head_at_ = 0;
    if (head_ == nullptr) tail_ = nullptr;
    pool_.put(emptied);
  }

  block_pool pool_;
  word_block* head_ = nullptr;
  word_block* tail_ = nullptr;
  std::uint32_t head_at_ = 0;
  std::uint32_t tail_at_ = 0;
  std::uint32_t size_ = 0;
};

// Last in, first out.
class word_stack {
 public:
  [[nodiscard]] bool reserve(std::size_t words) noexcept { return pool_.reserve(words); }
  [[nodiscard]] std::uint32_t size() const noexcept { return size_; }
  [[nodiscard]] std::uint32_t size_hint() const noexcept { return hint_of(size_); }  // for any thread

  void push(std::uintptr_t word) noexcept {
    if (top_ == nullptr || at_ == word_block::capacity) {
      word_block* const fresh = pool_.take();
      fresh->next = top_;
      top_ = fresh;
      at_ = 0;
    }
    top_->words[at_++] = word;
    ++size_;
  }

  std::uintptr_t pop() noexcept {
    if (size_ == 0) return 0;
    std::uintptr_t const word = top_->words[--at_];
    --size_;
    if (at_ == 0) {
      word_block* const emptied = top_;
      top_ = emptied->next;
      at_ = word_block::capacity;
      pool_.put(emptied);
    }
    return word;
  }

 private:
  block_pool pool_;
  word_block* top_ = nullptr;
  std::uint32_t at_ = 0;
  std::uint32_t size_ = 0;
};

}  // namespace thrum::rt
