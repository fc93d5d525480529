// fd: any descriptor that can be polled (a socket, a pipe, a terminal, an eventfd), read and written as if it blocked.
//
//   int ends[2];
//   ::pipe(ends);
//   thrum::fd in(ends[0]), out(ends[1]);
//   thrum::go([&] { out.write_all("hello"); out.close(); });
//   std::array<char, 5> text;
//   std::size_t n = in.read_full(text);   // 5, or 0: the end
//
// A call first tries; only if it would block does it park its goroutine, and no thread: a hundred thousand may wait. Nothing is
// allocated. On a thread that is no goroutine's the call blocks the thread; a runtime must be alive then.
//
// Errors: each call has a form that throws std::system_error and one with a std::error_code. timed_out: the deadline has passed.
// operation_canceled: it was closed, before or during the call. Whatever else: the system's. Reading answers 0 at the end. A peer that is
// gone is broken_pipe, not SIGPIPE, but for descriptors 1 and 2: a program whose standard output nobody reads ends by it,
// unless it has a handler for it, or ignores it.
//
// Thread safety: any number of goroutines may use one fd at a time, and close it; reads wait for each other, and so do writes,
// each a whole call long. Moving, assigning and destroying it are for one alone. A deadline is a moment, for all calls from then
// on, until it is set anew; setting it also ends calls that wait. The descriptor's number is free when the last call has left.
#pragma once

#include <thrum/buffer.h>
#include <thrum/clock.h>
#include <thrum/detail/deadline.h>
#include <thrum/io_error.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

namespace thrum {

namespace rt {
struct poll_desc;
}

class endpoint;
class fd;

namespace detail {
// What goes without waiting, perhaps nothing; whatever the deadline. It may come between the pieces of another one's write_all: for
// whoever keeps others from writing.
std::size_t write_now(fd& to, const_buffer from, std::error_code& error) noexcept;

// What was called, and on what. The words are found when something has gone wrong: "dial tcp 127.0.0.1:80: Connection refused".
struct call_to {
  char const* call;
  std::string_view object;
};
struct call_to_endpoint {
  char const* call;
  endpoint const& object;
};
struct call_on {  // "read_some tcp 127.0.0.1:40000->127.0.0.1:80", as far as the system still knows
  fd const& object;
  char const* call;
};
struct call_on_descriptor {  // "read_at /var/lib/data.bin"
  int object;
  char const* call;
};

[[noreturn]] void throw_io_error(std::error_code const& error, char const* call);
[[noreturn]] void throw_io_error(std::error_code const& error, call_to const& call);
[[noreturn]] void throw_io_error(std::error_code const& error, call_to_endpoint const& call);
[[noreturn]] void throw_io_error(std::error_code const& error, call_on const& call);
[[noreturn]] void throw_io_error(std::error_code const& error, call_on_descriptor const& call);
template <class Call>
void throw_if(std::error_code const& error, Call const& call) {
  if (error) [[unlikely]]
    throw_io_error(error, call);
}

// f(error)'s result, or what the error says.
template <class Call, class F>
auto or_throw(Call const& call, F f) {
  std::error_code error;
  if constexpr (std::is_void_v<decltype(f(error))>) {
    f(error);
    throw_if(error, call);
  } else {
    auto result = f(error);
    throw_if(error, call);
    return result;
  }
}
}  // namespace detail

class fd {
 public:
  static constexpr clock::time_point no_deadline = clock::time_point::max();

  fd() noexcept = default;
  // Takes the descriptor over and makes it non-blocking. If that fails it stays the caller's: a file, for example, cannot be
  // polled (operation_not_permitted).
  explicit fd(int descriptor);
  fd(int descriptor, std::error_code& error) noexcept;
  fd(fd&& other) noexcept : desc_(std::exchange(other.desc_, nullptr)) {}
  fd& operator=(fd&& other) noexcept {
    if (this != &other) {
      drop();
      desc_ = std::exchange(other.desc_, nullptr);
    }
    return *this;
  }
  ~fd() { drop(); }

  [[nodiscard]] bool is_open() const noexcept;
  explicit operator bool() const noexcept { return is_open(); }
  [[nodiscard]] int native_handle() const noexcept;  // -1: not open

  // Never waits. Closing twice is an error: bad_file_descriptor.
  void close() {
    detail::or_throw(detail::call_on{*this, "close"}, [this](std::error_code& e) { close(e); });
  }
  void close(std::error_code& error) noexcept;

  // Whatever there is, at least one byte; 0: the end, or an empty buffer.
  std::size_t read_some(mutable_buffer to) {
    return detail::or_throw(detail::call_on{*this, "read_some"}, [&](std::error_code& e) { return read_some(to, e); });
  }
  std::size_t read_some(mutable_buffer to, std::error_code& error);
  std::size_t read_some(std::span<mutable_buffer const> to) {
    return detail::or_throw(detail::call_on{*this, "read_some"}, [&](std::error_code& e) { return read_some(to, e); });
  }
  std::size_t read_some(std::span<mutable_buffer const> to, std::error_code& error);

  // All of it. 0: the end, or an empty buffer. An end after some bytes is an error, io_errc::unexpected_end; with that and other errors
  // the answer is how many came before.
  [[nodiscard]] std::size_t read_full(mutable_buffer to) {
    return detail::or_throw(detail::call_on{*this, "read_full"}, [&](std::error_code& e) { return read_full(to, e); });
  }
  std::size_t read_full(mutable_buffer to, std::error_code& error);

  // As much as fits now, at least one byte.
  std::size_t write_some(const_buffer from) {
    return detail::or_throw(detail::call_on{*this, "write_some"},
                            [&](std::error_code& e) { return write_some(from, e); });
  }
  std::size_t write_some(const_buffer from, std::error_code& error);
  std::size_t write_some(std::span<const_buffer const> from) {
    return detail::or_throw(detail::call_on{*this, "write_some"},
                            [&](std::error_code& e) { return write_some(from, e); });
  }
  std::size_t write_some(std::span<const_buffer const> from, std::error_code& error);

  // All of it, in one piece beside other writers; less only with an error.
  std::size_t write_all(const_buffer from) {
    return detail::or_throw(detail::call_on{*this, "write_all"},
                            [&](std::error_code& e) { return write_all(from, e); });
  }
  std::size_t write_all(const_buffer from, std::error_code& error);
  std::size_t write_all(std::span<const_buffer const> from) {
    return detail::or_throw(detail::call_on{*this, "write_all"},
                            [&](std::error_code& e) { return write_all(from, e); });
  }
  std::size_t write_all(std::span<const_buffer const> from, std::error_code& error);

  // A part of a file, without a copy through this program. How many bytes: less at the end of the file.
  std::size_t send_file(int file, std::int64_t offset, std::size_t bytes) {
    return detail::or_throw(detail::call_on{*this, "send_file"},
                            [&](std::error_code& e) { return send_file(file, offset, bytes, e); });
  }
  std::size_t send_file(int file, std::int64_t offset, std::size_t bytes, std::error_code& error);

  // Waits until a read or a write would not block, and makes none: for libraries that do it themselves. May return too early.
  void wait_readable() {
    detail::or_throw(detail::call_on{*this, "wait_readable"}, [&](std::error_code& e) { wait_readable(e); });
  }
  void wait_readable(std::error_code& error);
  void wait_writable() {
    detail::or_throw(detail::call_on{*this, "wait_writable"}, [&](std::error_code& e) { wait_writable(e); });
  }
  void wait_writable(std::error_code& error);

  // A moment, or a time from now. None of these waits.
  template <class When>
  void set_deadline(When const& when) {
    detail::or_throw(detail::call_on{*this, "set_deadline"}, [&](std::error_code& e) { set_deadline(when, e); });
  }
  template <class When>
  void set_deadline(When const& when, std::error_code& error) noexcept {
    set_deadlines(true, true, detail::io_deadline(when), error);
  }
  template <class When>
  void set_read_deadline(When const& when) {
    detail::or_throw(detail::call_on{*this, "set_read_deadline"},
                     [&](std::error_code& e) { set_read_deadline(when, e); });
  }
  template <class When>
  void set_read_deadline(When const& when, std::error_code& error) noexcept {
    set_deadlines(true, false, detail::io_deadline(when), error);
  }
  template <class When>
  void set_write_deadline(When const& when) {
    detail::or_throw(detail::call_on{*this, "set_write_deadline"},
                     [&](std::error_code& e) { set_write_deadline(when, e); });
  }
  template <class When>
  void set_write_deadline(When const& when, std::error_code& error) noexcept {
    set_deadlines(false, true, detail::io_deadline(when), error);
  }

 protected:
  explicit fd(rt::poll_desc* desc) noexcept : desc_(desc) {}

  rt::poll_desc* desc_ = nullptr;

 private:
  friend std::uint64_t splice_all(fd& from, fd& to, std::error_code& error);
  friend void detail::throw_io_error(std::error_code const& error, detail::call_on const& call);
  friend std::size_t detail::write_now(fd& to, const_buffer from, std::error_code& error) noexcept;

  void set_deadlines(bool read, bool write, std::int64_t when_ns, std::error_code& error) noexcept;
  void drop() noexcept;
};

// Bytes from one to the other until the end of `from`, through a pipe in the kernel where that can be: sockets and pipes. How many.
// If writing fails, up to 64 KiB that were read before are lost.
std::uint64_t splice_all(fd& from, fd& to);
std::uint64_t splice_all(fd& from, fd& to, std::error_code& error);

}  // namespace thrum
