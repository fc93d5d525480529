// Where a dump is written to, piece by piece, so that a long dump needs no memory for all of its text.
#pragma once

#include <cstddef>
#include <string>

namespace thrum::rt {

class dump_output {
 public:
  using write_function = void (*)(void* argument, char const* text, std::size_t bytes);
  dump_output(write_function write, void* argument) : write_(write), argument_(argument) {}

  // What has been added here and not been written. To be appended to.
  [[nodiscard]] std::string& text() noexcept { return text_; }
  // To be called from time to time: writes the text if there is enough of it.
  void pass_on() {
    if (text_.size() >= piece_bytes) flush();
  }
  void flush() {
    if (!text_.empty()) write_(argument_, text_.data(), text_.size());
    text_.clear();
  }

 private:
  static constexpr std::size_t piece_bytes = std::size_t{64} * 1024;

  write_function const write_;
  void* const argument_;
  std::string text_;
};

}  // namespace thrum::rt
