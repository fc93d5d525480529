// An answer of the live view: what the API makes, and what the server sends.
#pragma once

#include "os/socket.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace thrum::live {

// A descriptor that is closed with the object.
class owned_descriptor {
 public:
  owned_descriptor() noexcept = default;
  explicit owned_descriptor(int fd) noexcept : fd_(fd) {}
  owned_descriptor(owned_descriptor&& from) noexcept : fd_(std::exchange(from.fd_, -1)) {}
  owned_descriptor& operator=(owned_descriptor&& from) noexcept {
    std::swap(fd_, from.fd_);
    return *this;
  }
  ~owned_descriptor() {
    if (fd_ >= 0) rt::os::close(fd_);
  }
  [[nodiscard]] int get() const noexcept { return fd_; }
  [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

struct http_answer;

// What a request has begun and that takes a while: a trace or a profile. Destroying it ends that at once.
class pending_answer {
 public:
  pending_answer() = default;
  virtual ~pending_answer() = default;
  pending_answer(pending_answer const&) = delete;
  pending_answer& operator=(pending_answer const&) = delete;

  std::int64_t ends_ns = 0;  // when finish() is to be called, on the monotonic clock
  [[nodiscard]] virtual http_answer finish() = 0;
};

enum class media : std::uint8_t { text, html, json, metrics, bytes };

struct http_answer {
  int status = 200;
  media type = media::text;
  std::string body;
  std::string_view page;  // a body that is part of the program, in place of `body`
  owned_descriptor file;  // a body in a file, of so many bytes
  std::int64_t file_bytes = 0;
  std::string_view download;             // the name under which a browser keeps it: a literal
  std::unique_ptr<pending_answer> work;  // if it is set, the answer is that of its finish()
  bool is_stream = false;                // the events of the machine follow, for good

  [[nodiscard]] std::size_t bytes() const noexcept {
    if (file.get() >= 0) return static_cast<std::size_t>(file_bytes);
    return page.empty() ? body.size() : page.size();
  }
};

// {"error":"why not"}
[[nodiscard]] http_answer error_answer(int status, std::string_view why);
[[nodiscard]] http_answer json_answer(std::string body);

// The status line and the fields, up to and with the empty line.
[[nodiscard]] std::string head_of(http_answer const& answer, bool stays_open);

}  // namespace thrum::live
