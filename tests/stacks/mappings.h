// What the tests of the layer stack/ observe from outside: the pages that are in memory, and the mappings of the
// process.
#pragma once

#include "os/memory.h"
#include "stack/stack.h"

#include <cstddef>
#include <fstream>
#include <string>
#include <vector>

#include <sys/mman.h>

namespace thrum::rt::test {

// How many pages of [address, address + bytes) are in memory.
inline std::size_t resident_pages(char* address, std::size_t bytes) {
  std::size_t const page = os::page_size();
  std::vector<unsigned char> seen(bytes / page);
  if (::mincore(address, bytes, seen.data()) != 0) return ~std::size_t{0};
  std::size_t resident = 0;
  for (unsigned char const each : seen) resident += each & 1U;
  return resident;
}

// The number of pages in memory of the stack itself, from `low` to the end of its slot.
inline std::size_t resident_pages(stack const& one) {
  std::size_t const page = os::page_size();
  auto const end = (reinterpret_cast<std::uintptr_t>(one.top) | (page - 1)) + 1;
  return resident_pages(one.low, end - reinterpret_cast<std::uintptr_t>(one.low));
}

inline std::size_t mappings() {
  std::ifstream maps("/proc/self/maps");
  std::size_t lines = 0;
  for (std::string line; std::getline(maps, line);) ++lines;
  return lines;
}

}  // namespace thrum::rt::test
