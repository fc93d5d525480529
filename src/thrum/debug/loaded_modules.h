// The files of the program: where each is loaded, and the build id that tells which build of it it is. Readers of
// traces and profiles need this to find the names of addresses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace thrum::rt {

// Whole pages of code, as /proc/self/maps shows them.
struct code_segment {
  std::uintptr_t low = 0;
  std::uintptr_t high = 0;
  std::uint64_t offset = 0;  // in the file
};

struct loaded_module {
  std::string path;
  std::vector<std::byte> build_id;  // empty: it has none
  std::uintptr_t bias = 0;          // what the loader has added to the addresses in the file
  std::uintptr_t low = 0;
  std::uintptr_t high = 0;
  std::vector<code_segment> code;
};

// The executable comes first. Takes the loader's lock, and allocates.
[[nodiscard]] std::vector<loaded_module> loaded_modules();

}  // namespace thrum::rt
