// Parses requests from the bytes of a connection: arrays of bulk strings ("*2\r\n$3\r\nGET\r\n$1\r\nk\r\n"), or words
// on a line ("GET k\r\n"), for people with telnet.
//
//   while (parser.next() == request_parser::outcome::request) answer(parser.arguments());
//   parser.received(conn.read_some(parser.room()));
//
// Bytes may come in any pieces. The parser remembers where it stopped and examines no byte twice, and its buffer
// doubles when it is full. So the cost of a value is proportional to its length, however it comes. A length that is
// only announced costs nothing.
#pragma once

#include <thrum/buffer.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kv {

class request_parser {
 public:
  static constexpr std::size_t line_bytes_max = 64 * 1024;           // an inline command, or a line with a length
  static constexpr std::int64_t arguments_max = 1024 * 1024;         // in one array
  static constexpr std::int64_t bulk_bytes_max = 512 * 1024 * 1024;  // one argument

  enum class outcome { request, incomplete, broken };

  // Finds the next request among the bytes that have come. If it is malformed, error() says why, and no further request
  // can be parsed.
  [[nodiscard]] outcome next();

  // The arguments of the request that next() found, with the name of the command first; never empty. They point into
  // the buffer, and are valid until room() or next() is called.
  [[nodiscard]] std::span<std::string_view const> arguments() const noexcept { return arguments_; }
  [[nodiscard]] std::string const& error() const noexcept { return error_; }

  // Where to read to, and how many bytes were read.
  [[nodiscard]] thrum::mutable_buffer room();
  void received(std::size_t bytes) noexcept { end_ += bytes; }
  [[nodiscard]] std::size_t waiting_bytes() const noexcept { return end_ - at_; }

 private:
  struct piece {
    std::size_t offset;  // relative to the beginning of the request, because the buffer may move
    std::size_t size;
  };

  outcome parse_array();
  outcome parse_inline();
  outcome parse_bulk();
  outcome broken(std::string why);
  [[nodiscard]] std::optional<std::string_view> take_line(char last);
  void begin_request() noexcept;
  // Frees the memory after a request with very many arguments, because such requests are rare.
  template <class T>
  static void clear(std::vector<T>& parts) noexcept;
  void resize(std::size_t capacity);

  static constexpr std::size_t capacity_min = 4 * 1024;  // small, because many connections are idle
  // What a connection may keep while it has nothing to parse.
  static constexpr std::size_t capacity_idle_max = 64 * 1024;
  static constexpr std::int64_t unknown = -1;

  std::unique_ptr<char[]> bytes_;
  std::size_t capacity_ = 0;
  // begin_ <= at_ <= scanned_ <= end_ <= capacity_
  std::size_t begin_ = 0;    // the request that is being parsed begins here
  std::size_t at_ = 0;       // parsed up to here
  std::size_t scanned_ = 0;  // there is no end of a line before this
  std::size_t end_ = 0;      // received up to here

  std::int64_t arguments_left_ = unknown;  // 0: the request is complete
  std::int64_t bulk_bytes_ = unknown;
  std::vector<piece> pieces_;
  std::vector<std::string> words_;  // the words of an inline command, without their quotes
  std::vector<std::string_view> arguments_;
  std::string error_;
};

}  // namespace kv
