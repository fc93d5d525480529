// The parts of example_kv when memory runs out, which the server survives: nothing half made may stay behind. And what they keep
// of it when they need it no longer.
#include "kv/request_parser.h"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <new>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <malloc.h>

namespace {

constexpr auto unlimited = std::numeric_limits<std::size_t>::max();
constinit thread_local std::size_t allocations_left = unlimited;  // to this thread
constinit std::atomic<std::size_t> bytes_refused{unlimited};      // to anybody, and all that is larger
constinit std::atomic<std::size_t> bytes_in_use{0};

void* allocate(std::size_t bytes) noexcept {
  if (allocations_left == 0 || bytes >= bytes_refused.load()) return nullptr;
  if (allocations_left != unlimited) --allocations_left;
  void* const made = std::malloc(bytes);
  bytes_in_use += ::malloc_usable_size(made);
  return made;
}

void* allocate_or_throw(std::size_t bytes) {
  if (void* const made = allocate(bytes)) return made;
  throw std::bad_alloc();
}

void release(void* gone) noexcept {
  bytes_in_use -= ::malloc_usable_size(gone);
  std::free(gone);
}

}  // namespace

void* operator new(std::size_t bytes) { return allocate_or_throw(bytes); }
void* operator new[](std::size_t bytes) { return allocate_or_throw(bytes); }
void* operator new(std::size_t bytes, std::nothrow_t const&) noexcept { return allocate(bytes); }
void* operator new[](std::size_t bytes, std::nothrow_t const&) noexcept { return allocate(bytes); }
void operator delete(void* gone) noexcept { release(gone); }
void operator delete[](void* gone) noexcept { release(gone); }
void operator delete(void* gone, std::size_t) noexcept { release(gone); }
void operator delete[](void* gone, std::size_t) noexcept { release(gone); }

namespace {

std::size_t parse(kv::request_parser& parser, std::string_view bytes) {
  std::size_t arguments = 0;
  while (!bytes.empty()) {
    thrum::mutable_buffer const room = parser.room();
    std::size_t const size = bytes.copy(static_cast<char*>(room.data()), room.size());
    parser.received(size);
    bytes.remove_prefix(size);
    while (parser.next() == kv::request_parser::outcome::request) arguments += parser.arguments().size();
  }
  static_cast<void>(parser.room());
  return arguments;
}

TEST(kv_memory, of_a_request_with_very_many_arguments_is_given_back) {
  constexpr std::size_t kept_max = 256 * 1024;
  std::size_t const many = kv::request_parser::arguments_max;
  std::string array = "*" + std::to_string(many) + "\r\n";
  for (std::size_t i = 0; i < many; ++i) array += "$0\r\n\r\n";
  std::string words;
  while (words.size() < 60'000) words += "x ";
  words += "\r\n";

  std::size_t const before = bytes_in_use;
  kv::request_parser parser;
  EXPECT_EQ(parse(parser, array), many);
  EXPECT_LE(bytes_in_use - before, kept_max);
  EXPECT_EQ(parse(parser, words), words.size() / 2 - 1);
  EXPECT_LE(bytes_in_use - before, kept_max);
}

}  // namespace
