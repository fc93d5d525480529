// The goroutine dump as text.
#pragma once

#include <thrum/runtime.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace thrum::test {

inline std::string dumped() {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* const out = ::open_memstream(&text, &size);
  dump_goroutines(out);
  std::fclose(out);
  std::string result(text, size);
  std::free(text);
  return result;
}

}  // namespace thrum::test
