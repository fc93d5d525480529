// Where the files of the program are loaded, so that a reader of a trace can find the names of addresses.
#pragma once

#include <cstddef>
#include <vector>

namespace thrum::rt::trace {

// The contents of a block `modules` (docs/trace-format.md). Takes the loader's lock, and allocates.
[[nodiscard]] std::vector<std::byte> contents_of_modules();

}  // namespace thrum::rt::trace
