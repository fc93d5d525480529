// fd: any descriptor that can be polled (a socket, a pipe, a terminal, an eventfd), with calls in blocking style.
//
//   int ends[2];
//   ::pipe(ends);
//   thrum::fd in(ends[0]), out(ends[1]);
//   thrum::go([&] { out.write_all("hello"); out.close(); });
//   std::array<char, 5> text;
//   std::size_t n = in.read_full(text);   // 5, or 0 at the end
//
// A call first tries the operation. If that would block, the call parks its goroutine and blocks no thread, so a
// hundred thousand calls can wait. Nothing is allocated. On a thread that is not a goroutine the call blocks the
// thread, and a runtime must be alive.
//
// Errors: each call has a form that throws std::system_error and one with a std::error_code.
//  - timed_out: the deadline has passed.
//  - operation_canceled: the fd was closed, before or during the call.
//  - broken_pipe: the peer has closed. There is no SIGPIPE, except for descriptors 1 and 2: if the reader of the
//    standard output is gone, SIGPIPE ends the program unless it handles or ignores the signal.
//  - All other errors are those of the system. Reading returns 0 at the end.
//
// Thread safety: any number of goroutines may use one fd at the same time, and close it. Reads wait for each other, and
// so do writes, each for the length of a whole call. Moving, assigning and destroying need exclusive access. The
// descriptor's number becomes free when the last call has returned.
//
// A deadline is a point in time. It applies to all calls, also to those that already wait, until it is set anew.
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
// Writes as much as possible without waiting, perhaps nothing, and ignores the deadline. The bytes may come between the
// pieces of another goroutine's write_all, so the caller has to keep other goroutines from writing.
std::size_t write_now(fd& to, const_buffer from, std::error_code& error) noexcept;

// The name of the call and its object, for the error message "dial tcp 127.0.0.1:80: Connection refused". The text is
// made only after an error.
struct call_to {
  char const* call;
  std::string_view object;
};
struct call_to_endpoint {
  char const* call;
  endpoint const& object;
};
// "read_some tcp 127.0.0.1:40000->127.0.0.1:80", as far as the system knows the addresses.
struct call_on {
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

// Returns the result of f(error), or throws if there was an error.
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
  // Takes ownership of the descriptor and makes it non-blocking. If that fails, the descriptor remains the caller's. A
  // regular file, for example, cannot be polled (operation_not_permitted).
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
  [[nodiscard]] int native_handle() const noexcept;  // -1 if not open

  // Does not wait, and the goroutine stays on its thread, unless the program has set SO_LINGER. The kernel itself may
  // wait when a device or an inotify descriptor is closed. Closing twice is an error: bad_file_descriptor.
  void close() {
    detail::or_throw(detail::call_on{*this, "close"}, [this](std::error_code& e) { close(e); });
  }
  void close(std::error_code& error) noexcept;

  // Reads the bytes that are available, at least one. Returns 0 at the end, or for an empty buffer.
  std::size_t read_some(mutable_buffer to) {
    return detail::or_throw(detail::call_on{*this, "read_some"}, [&](std::error_code& e) { return read_some(to, e); });
  }
  std::size_t read_some(mutable_buffer to, std::error_code& error);
  std::size_t read_some(std::span<mutable_buffer const> to) {
    return detail::or_throw(detail::call_on{*this, "read_some"}, [&](std::error_code& e) { return read_some(to, e); });
  }
  std::size_t read_some(std::span<mutable_buffer const> to, std::error_code& error);

  // Fills the whole buffer. Returns 0 at the end, or for an empty buffer. If the end comes after some bytes, that is
  // the error io_errc::unexpected_end. With an error the form with a std::error_code returns how many bytes came before
  // it.
  [[nodiscard]] std::size_t read_full(mutable_buffer to) {
    return detail::or_throw(detail::call_on{*this, "read_full"}, [&](std::error_code& e) { return read_full(to, e); });
  }
  std::size_t read_full(mutable_buffer to, std::error_code& error);

  // Writes as much as possible at the moment, at least one byte.
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

  // Writes everything. No other write comes in between. Returns less only with an error.
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

  // Sends part of a file without copying it through this program. Returns the number of bytes sent, which is less than
  // `bytes` at the end of the file.
  std::size_t send_file(int file, std::int64_t offset, std::size_t bytes) {
    return detail::or_throw(detail::call_on{*this, "send_file"},
                            [&](std::error_code& e) { return send_file(file, offset, bytes, e); });
  }
  std::size_t send_file(int file, std::int64_t offset, std::size_t bytes, std::error_code& error);

  // Wait until a read or a write would not block, without doing one. They are for libraries that read or write
  // themselves, and may return too early.
  void wait_readable() {
    detail::or_throw(detail::call_on{*this, "wait_readable"}, [&](std::error_code& e) { wait_readable(e); });
  }
  void wait_readable(std::error_code& error);
  void wait_writable() {
    detail::or_throw(detail::call_on{*this, "wait_writable"}, [&](std::error_code& e) { wait_writable(e); });
  }
  void wait_writable(std::error_code& error);

  // `when` is a point in time, or a duration from the call on. None of these waits.
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

// Copies bytes from `from` to `to` until the end of `from`, and returns their number. For sockets and pipes the bytes
// go through a pipe in the kernel where that is possible. If writing fails, up to 64 KiB that were read already are
// lost.
std::uint64_t splice_all(fd& from, fd& to);
std::uint64_t splice_all(fd& from, fd& to, std::error_code& error);

}  // namespace thrum
