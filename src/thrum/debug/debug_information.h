// What the files of the program say about an address: their DWARF and their symbol tables, read by elfutils' libdw.
//
// The library is loaded when it is first needed, so thrum depends only on the C and C++ libraries. If it is not
// installed, or in a static program (os/shared_library.h), there is no answer. It is never asked to fetch anything from
// a debuginfod server, because a report must not wait for the network.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

struct Dwfl;  // libdw's

namespace thrum::rt {

// A place in the program's text.
struct code_place {
  std::string function;  // demangled; else "module+0x1234"; else "0x1234"
  std::string file;      // the source file; the module if the line is 0; empty: no more is known
  int line = 0;
  std::uintptr_t offset = 0;  // of the address in its function
};

class debug_information {
 public:
  enum class wanted : bool { no, yes };
  explicit debug_information(wanted is_wanted);
  ~debug_information();
  debug_information(debug_information const&) = delete;
  debug_information& operator=(debug_information const&) = delete;

  // Whether the library is there and could read what is loaded.
  [[nodiscard]] bool is_there() const noexcept { return reader_ != nullptr; }
  [[nodiscard]] Dwfl* reader() const noexcept { return reader_; }
  // For the end of a report: why it has no names and lines, and what to do about it. nullptr: it has them, or they are
  // not wanted.
  [[nodiscard]] char const* why_not() const noexcept;

  // `places` holds one place. It is replaced by a better one if there is any, and the calls that were inlined there are
  // put before it.
  void refine(std::uintptr_t pc, std::vector<code_place>& places) const;

 private:
  bool const is_wanted_;
  Dwfl* const reader_;
};

// Returns the name as it is written in the source, or the name itself if it is not mangled.
[[nodiscard]] std::string demangled(char const* name);

}  // namespace thrum::rt
