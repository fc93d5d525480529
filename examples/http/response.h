// An answer, and how it is written.
#pragma once

#include "request.h"

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>
#include <utility>

namespace http {

// Owns an open file.
class descriptor {
 public:
  descriptor() noexcept = default;
  explicit descriptor(int open) noexcept : number_(open) {}
  descriptor(descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  descriptor& operator=(descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~descriptor();
  [[nodiscard]] int number() const noexcept { return number_; }
  explicit operator bool() const noexcept { return number_ >= 0; }

 private:
  int number_ = -1;
};

struct file_part {
  descriptor file;  // if there is none, the body is the string
  std::int64_t offset = 0;
  std::size_t bytes = 0;
};

struct response {
  int status = 200;
  std::string_view content_type = "text/plain; charset=utf-8";
  std::string headers;  // further headers, each line with its CR LF
  std::string body;
  file_part file;

  [[nodiscard]] std::size_t body_bytes() const noexcept { return file.file ? file.bytes : body.size(); }
};

// An answer such as "404 Not Found", which is also its body.
[[nodiscard]] response plain_status(int status);

// The text of the Date header, made once a second.
class date_text {
 public:
  [[nodiscard]] std::string_view now();

 private:
  std::time_t made_for_ = -1;
  std::string text_;
};

// What the connection adds to an answer.
struct answer_frame {
  int minor_version = 1;
  bool keep_alive = false;
  bool without_body = false;  // for HEAD, which asks for the head alone
  std::string_view date;
};

// Appends the head, and the body unless it is a file.
void append(std::string& out, response const& what, answer_frame const& frame);

}  // namespace http
