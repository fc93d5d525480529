// The file that a trace is written to. docs/trace-format.md describes it.
//
// Blocks are collected in memory and written in large pieces. The first error is kept, and nothing is written after it.
// Used by one thread at a time. Allocates, and may block the thread.
#pragma once

#include "core/trace_format.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace thrum::rt::trace {

class file {
 public:
  file() = default;
  ~file();
  file(file const&) = delete;
  file& operator=(file const&) = delete;

  // Returns 0 or the errno. An existing file is replaced, unless another process writes a trace to it: EBUSY.
  [[nodiscard]] int open(std::string const& path);
  void write_header(file_header const& header);
  void write_block(block_header header, std::span<std::byte const> contents);
  // Hands what was collected to the kernel.
  void flush();
  void give_up() noexcept;
  // Writes the rest and closes the file. Returns 0 or the first errno.
  [[nodiscard]] int close();

  [[nodiscard]] int error() const noexcept { return error_; }

 private:
  void append(void const* bytes, std::size_t count);

  int fd_ = -1;
  int error_ = 0;
  std::uint64_t offset_ = 0;
  std::vector<std::byte> pending_;
};

}  // namespace thrum::rt::trace
