// Writes messages in protobuf's encoding. This is all of it that profiles need: numbers, texts, lists of numbers, and
// messages inside messages.
//
// Allocates. Not for signal handlers, nor under a lock of the runtime (T01).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace thrum::rt {

class protobuf {
 public:
  using field = std::uint32_t;

  // A field that is 0 or false is left out, which means the same to a reader.
  void number(field which, std::uint64_t value) {
    if (value != 0) number_even_if_0(which, value);
  }
  void number_even_if_0(field which, std::uint64_t value) {
    varint(which << 3U);
    varint(value);
  }
  void text(field which, std::string_view value) {
    varint(which << 3U | 2U);
    varint(value.size());
    bytes_ += value;
  }
  void part(field which, protobuf const& message) { text(which, message.bytes_); }
  template <class Number>
  void numbers(field which, std::span<Number const> values) {
    protobuf list;
    for (Number const value : values) list.varint(static_cast<std::uint64_t>(value));
    part(which, list);
  }

  [[nodiscard]] std::string const& bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::string take() noexcept { return std::move(bytes_); }

 private:
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7U) bytes_ += static_cast<char>(value | 0x80U);
    bytes_ += static_cast<char>(value);
  }

  std::string bytes_;
};

}  // namespace thrum::rt
