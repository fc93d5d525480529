// file: files of the file system. The kernel cannot report when a file is ready, so each call is announced as one that
// may block (blocking.h): it keeps its thread, and its P goes to other goroutines if it takes long. There is one
// exception. If more than a few read_at calls wait for the disk, further ones wait without a thread, provided that
// io_uring is available (THRUM_DEBUG=iouringoff=1 turns its use off).
//
//   auto log = thrum::file::open("app.log", thrum::open_for::append);
//   log.write_all("started\n");
//   auto in = thrum::file::open("data.bin", thrum::open_for::read);
//   std::array<char, 4096> page;
//   std::size_t n = in.read_at(page, 8192);
//
// Errors are reported as in fd.h, in both forms. Reading returns 0 at the end. Thread safety: any number of goroutines
// may use one file at the same time; the calls without _at share one position. Moving, closing and destroying need
// exclusive access.
#pragma once

#include <thrum/buffer.h>
#include <thrum/fd.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>
#include <utility>

namespace thrum {

enum class open_for : std::uint8_t {
  read,
  write,      // creates the file, or empties an existing one
  append,     // creates the file if it does not exist; every write goes to the end
  update,     // reads and writes an existing file
  exclusive,  // creates the file, and fails if it exists
};

class file {
 public:
  file() noexcept = default;
  file(file&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  file& operator=(file&& other) noexcept {
    if (this != &other) {
      drop();
      descriptor_ = std::exchange(other.descriptor_, -1);
    }
    return *this;
  }
  ~file() { drop(); }

  static file open(std::string const& path, open_for what = open_for::read, unsigned permissions = 0666) {
    return detail::or_throw(detail::call_to{"open", path},
                            [&](std::error_code& e) { return open(path, what, permissions, e); });
  }
  static file open(std::string const& path, open_for what, unsigned permissions, std::error_code& error);

  [[nodiscard]] bool is_open() const noexcept { return descriptor_ >= 0; }
  explicit operator bool() const noexcept { return is_open(); }
  [[nodiscard]] int native_handle() const noexcept { return descriptor_; }
  void close() {
    detail::or_throw(detail::call_on_descriptor{descriptor_, "close"}, [&](std::error_code& e) { close(e); });
  }
  void close(std::error_code& error);

  std::size_t read_some(mutable_buffer to) {
    return detail::or_throw(detail::call_on_descriptor{descriptor_, "read_some"},
                            [&](std::error_code& e) { return read_some(to, e); });
  }
  std::size_t read_some(mutable_buffer to, std::error_code& error);
  std::size_t write_all(const_buffer from) {
    return detail::or_throw(detail::call_on_descriptor{descriptor_, "write_all"},
                            [&](std::error_code& e) { return write_all(from, e); });
  }
  std::size_t write_all(const_buffer from, std::error_code& error);
  std::size_t read_at(mutable_buffer to, std::uint64_t offset) {
    return detail::or_throw(detail::call_on_descriptor{descriptor_, "read_at"},
                            [&](std::error_code& e) { return read_at(to, offset, e); });
  }
  std::size_t read_at(mutable_buffer to, std::uint64_t offset, std::error_code& error);
  std::size_t write_at(const_buffer from, std::uint64_t offset) {
    return detail::or_throw(detail::call_on_descriptor{descriptor_, "write_at"},
                            [&](std::error_code& e) { return write_at(from, offset, e); });
  }
  std::size_t write_at(const_buffer from, std::uint64_t offset, std::error_code& error);

  [[nodiscard]] std::uint64_t size() const {
    return detail::or_throw(detail::call_on_descriptor{descriptor_, "size"},
                            [&](std::error_code& e) { return size(e); });
  }
  [[nodiscard]] std::uint64_t size(std::error_code& error) const;
  // When sync returns, everything that was written is on the disk.
  void sync() {
    detail::or_throw(detail::call_on_descriptor{descriptor_, "sync"}, [&](std::error_code& e) { sync(e); });
  }
  void sync(std::error_code& error);

 private:
  void drop() noexcept;
  int descriptor_ = -1;
};

}  // namespace thrum
