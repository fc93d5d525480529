// Buffers to read into and to write from: a pointer and a size, made from anything that holds plain contiguous bytes.
//
//   std::array<char, 4096> in;   conn.read_some(in);
//   conn.write_all("hello\n");   conn.write_all(std::string_view(in.data(), n));
//   std::array<thrum::const_buffer, 2> parts{head, body};   conn.write_all(parts);
//
// A buffer owns nothing: the bytes must live until the call is over.
//
// An array stands for all its bytes, including zeros. A string literal stands for its text without the terminating
// zero; zeros inside it count. A literal and a const array of characters have the same type. So a const array of
// characters is accepted only if the compiler knows its bytes (literals, constexpr arrays), and one zero at the end is
// then left out. Any other const array of characters does not compile, because it could be text or bytes: write
// std::string_view(text) or {bytes, sizeof bytes}.
#pragma once

#include <thrum/detail/at_least_cxx20.h>

#include <concepts>
#include <cstddef>
#include <iterator>
#include <type_traits>
#include <utility>

namespace thrum {

class mutable_buffer;
class const_buffer;

namespace detail {

// Types whose bytes may be read or written. Pointers and buffers are excluded.
template <class T>
concept plain_bytes = std::is_trivially_copyable_v<T> && !std::is_pointer_v<T> && !std::same_as<T, mutable_buffer> &&
                      !std::same_as<T, const_buffer>;

// The character types of string literals.
template <class T>
concept character = std::same_as<T, char> || std::same_as<T, wchar_t> || std::same_as<T, char8_t> ||
    std::same_as<T, char16_t> || std::same_as<T, char32_t>;

template <class R>
using element_in = std::remove_pointer_t<decltype(std::data(std::declval<R&>()))>;

template <class R>
concept bytes_in_a_row = requires(R& r) {
  { std::size(r) } -> std::convertible_to<std::size_t>;
  { std::data(r) } -> std::convertible_to<void const*>;
}
&&plain_bytes<std::remove_cv_t<element_in<R>>>;

template <class R>
concept writable_bytes = bytes_in_a_row<R> && !std::is_const_v<element_in<R>>;

template <class R>
inline constexpr bool may_be_literal = false;
template <character C, std::size_t N>
inline constexpr bool may_be_literal<C const[N]> = true;

}  // namespace detail

class mutable_buffer {
 public:
  constexpr mutable_buffer() noexcept = default;
  constexpr mutable_buffer(void* data, std::size_t size) noexcept : data_(data), size_(size) {}
  template <detail::writable_bytes R>
  requires(!std::same_as<std::remove_cvref_t<R>, mutable_buffer>) constexpr mutable_buffer(R&& range) noexcept
      : data_(std::data(range)), size_(std::size(range) * sizeof(detail::element_in<R>)) {}

  [[nodiscard]] constexpr void* data() const noexcept { return data_; }
  [[nodiscard]] constexpr std::size_t size() const noexcept { return size_; }

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

class const_buffer {
 public:
  constexpr const_buffer() noexcept = default;
  constexpr const_buffer(void const* data, std::size_t size) noexcept : data_(data), size_(size) {}
  constexpr const_buffer(mutable_buffer b) noexcept : data_(b.data()), size_(b.size()) {}
  // A literal, without its terminating zero. A const array whose bytes the compiler does not know may be text or bytes:
  // write std::string_view(text) or const_buffer(bytes, sizeof bytes).
  template <detail::character C, std::size_t N>
  consteval const_buffer(C const (&literal)[N]) noexcept
      : data_(literal), size_((literal[N - 1] == C() ? N - 1 : N) * sizeof(C)) {}
  template <detail::bytes_in_a_row R>
  requires(!detail::may_be_literal<std::remove_reference_t<R>> && !std::same_as<std::remove_cvref_t<R>, const_buffer> &&
           !std::same_as<std::remove_cvref_t<R>, mutable_buffer>) constexpr const_buffer(R&& range) noexcept
      : data_(std::data(range)), size_(std::size(range) * sizeof(detail::element_in<R>)) {}

  [[nodiscard]] constexpr void const* data() const noexcept { return data_; }
  [[nodiscard]] constexpr std::size_t size() const noexcept { return size_; }

 private:
  void const* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace thrum
