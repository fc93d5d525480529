// Parses requests with llhttp. The bytes may come in any pieces, and several requests may follow each other.
//
//   for (;;) {
//     switch (parser.advance()) {
//       case parsed::nothing_more: n = conn.read_some(parser.space()); parser.received(n); break;
//       case parsed::head: ...          // of a request with a body, which can be refused here
//       case parsed::request: ...       // parser.current() is complete
//       case parsed::garbage: ...       // parser.refusal() is the status to answer; the connection has to be closed
//     }
//   }
//
// The head of the current request is contiguous in the buffer. Until it is complete, its parts are kept as offsets,
// because the buffer may move and grow. After that they are views, and the buffer neither moves nor grows. The body is
// copied to a string.
#pragma once

#include "request.h"
#include <thrum/buffer.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include <llhttp.h>

namespace http {

enum class parsed : std::uint8_t { nothing_more, head, request, garbage };

class request_parser {
 public:
  request_parser();
  request_parser(request_parser const&) = delete;  // llhttp points to this object
  request_parser& operator=(request_parser const&) = delete;

  [[nodiscard]] parsed advance();
  [[nodiscard]] request& current() noexcept { return request_; }
  [[nodiscard]] int refusal() const noexcept { return refusal_; }

  // Only after nothing_more.
  [[nodiscard]] thrum::mutable_buffer space();
  void received(std::size_t bytes) noexcept { end_ += bytes; }

  [[nodiscard]] bool is_between_requests() const noexcept { return begin_ == end_ && !head_is_complete_; }
  [[nodiscard]] bool has_more_bytes() const noexcept { return parsed_ != end_; }

 private:
  struct part {  // part of the buffer, as offsets from begin_
    std::uint32_t offset = 0;
    std::uint32_t size = 0;
  };
  struct header_parts {
    part name;
    part value;
  };
  enum class expects : std::uint8_t { name, more_of_name, value };

  static llhttp_settings_t const& callbacks();
  static request_parser& self(llhttp_t* parser) noexcept { return *static_cast<request_parser*>(parser->data); }
  int add_to_target(char const* at, std::size_t size);
  int add_to_name(char const* at, std::size_t size);
  int add_to_value(char const* at, std::size_t size);
  int add_to_body(char const* at, std::size_t size);
  int headers_complete();
  [[nodiscard]] bool extend(part& what, char const* at, std::size_t size) const noexcept;
  [[nodiscard]] int refuse(int status) noexcept;
  [[nodiscard]] int status_of(llhttp_errno_t error) const noexcept;

  void begin_next() noexcept;
  void make_room_for_body();
  void make_views();
  void split_target() noexcept;
  [[nodiscard]] std::string_view view(part what) const noexcept {
    return {bytes_.data() + begin_ + what.offset, what.size};
  }

  llhttp_t llhttp_;
  std::vector<char> bytes_;
  std::size_t begin_ = 0;   // where the current request begins
  std::size_t parsed_ = 0;  // llhttp has parsed up to here
  std::size_t end_ = 0;     // bytes have been received up to here

  part target_;
  std::vector<header_parts> parts_;
  std::vector<header> headers_;
  expects expects_ = expects::name;
  bool head_is_complete_ = false;
  bool is_chunked_ = false;  // valid after the head is complete
  bool is_complete_ = false;
  std::size_t head_end_ = 0;
  int refusal_ = 0;
  request request_;
};

}  // namespace http
