// thrum::fd (thrum/fd.h). A call that reads or writes takes the lock of its direction and waits in io_call::perform
// (net/io_call.h). Sockets use recv and send, other descriptors use read and write.
#include "net/io_call.h"
#include "net/open.h"
#include "os/socket.h"
#include "wait/poll_close.h"
#include <thrum/blocking.h>
#include <thrum/fd.h>
#include <thrum/io_error.h>

#include <algorithm>
#include <array>
#include <limits>

namespace thrum {

namespace {

using namespace rt;

poll_kind kind_of(int descriptor) noexcept {
  if (os::socket_type(descriptor) < 0) return poll_kind::other;
  return os::is_tcp(descriptor) ? poll_kind::tcp_socket : poll_kind::other_socket;
}

poll_desc* open_any(int descriptor, std::error_code& error) noexcept {
  poll_kind const kind = kind_of(descriptor);
  if (int const failed = os::set_nonblocking(descriptor)) {
    error = system_error_of(-failed);
    return nullptr;
  }
  return open_poll_desc(descriptor, kind, error);
}

// The buffers of one vectored system call, without empty ones. If there are more than parts_max, the rest is left for
// the next call.
constexpr std::size_t parts_max = 64;
struct parts {
  std::array<iovec, parts_max> list;
  std::size_t count = 0;
  std::size_t bytes = 0;

  void add(void* data, std::size_t size) noexcept {
    if (size == 0) return;
    list[count++] = {data, size};
    bytes += size;
  }
  [[nodiscard]] bool is_full() const noexcept { return count == parts_max; }
};

template <class Buffer>
parts gather(std::span<Buffer const> buffers) noexcept {
  parts all;
  for (Buffer const& b : buffers) {
    if (all.is_full()) break;
    all.add(const_cast<void*>(b.data()), b.size());
  }
  return all;
}

long read_parts(poll_desc const& d, int descriptor, parts& to) noexcept {
  if (d.kind == poll_kind::other) return os::read(descriptor, to.list.data(), static_cast<int>(to.count));
  msghdr message{};
  message.msg_iov = to.list.data();
  message.msg_iovlen = to.count;
  return os::receive(descriptor, message);
}

long write_parts(poll_desc const& d, int descriptor, parts& from) noexcept {
  if (d.kind == poll_kind::other) return os::write(descriptor, from.list.data(), static_cast<int>(from.count));
  msghdr message{};
  message.msg_iov = from.list.data();
  message.msg_iovlen = from.count;
  return os::send(descriptor, message);
}

long read_once(io_call& call, void* to, std::size_t bytes, std::error_code& error) {
  bool const is_socket = (*call).kind != poll_kind::other;
  return call.perform(bytes, error, [=](int descriptor) {
    return is_socket ? os::receive(descriptor, to, bytes) : os::read(descriptor, to, bytes);
  });
}

long try_to_write(poll_desc const& d, void const* from, std::size_t bytes) noexcept {
  return d.kind != poll_kind::other ? os::send(d.fd, from, bytes) : os::write(d.fd, from, bytes);
}

long write_once(io_call& call, void const* from, std::size_t bytes, std::error_code& error) {
  return call.perform(bytes, error, [&](int /*descriptor*/) { return try_to_write(*call, from, bytes); });
}

std::size_t at_least_0(long result) noexcept { return result > 0 ? static_cast<std::size_t>(result) : 0; }

}  // namespace

fd::fd(int descriptor) {
  std::error_code error;
  desc_ = open_any(descriptor, error);
  detail::throw_if(error, detail::call_on_descriptor{descriptor, "fd"});
}

fd::fd(int descriptor, std::error_code& error) noexcept : desc_(open_any(descriptor, error)) {}

bool fd::is_open() const noexcept { return desc_ != nullptr && !is_closed(*desc_); }
int fd::native_handle() const noexcept { return is_open() ? desc_->fd : -1; }

void fd::close(std::error_code& error) noexcept {
  error.clear();
  if (desc_ == nullptr || !close_poll_desc(*desc_)) error = system_error_of(EBADF);
}

void fd::drop() noexcept {
  if (desc_ != nullptr) drop_poll_desc(*std::exchange(desc_, nullptr));
}

std::size_t fd::read_some(mutable_buffer to, std::error_code& error) {
  io_call call(desc_, poll_side_name::read, error);
  return call && to.size() != 0 ? at_least_0(read_once(call, to.data(), to.size(), error)) : 0;
}

std::size_t fd::read_some(std::span<mutable_buffer const> to, std::error_code& error) {
  io_call call(desc_, poll_side_name::read, error);
  if (!call) return 0;
  parts all = gather(to);
  if (all.bytes == 0) return 0;
  return at_least_0(call.perform(all.bytes, error, [&](int descriptor) { return read_parts(*call, descriptor, all); }));
}

std::size_t fd::read_full(mutable_buffer to, std::error_code& error) {
  io_call call(desc_, poll_side_name::read, error);
  std::size_t done = 0;
  while (call && done < to.size()) {
    long const more = read_once(call, static_cast<char*>(to.data()) + done, to.size() - done, error);
    if (more == 0 && done != 0) error = io_errc::unexpected_end;
    if (more <= 0) break;
    done += static_cast<std::size_t>(more);
  }
  return done;
}

std::size_t fd::write_some(const_buffer from, std::error_code& error) {
  io_call call(desc_, poll_side_name::write, error);
  return call ? at_least_0(write_once(call, from.data(), from.size(), error)) : 0;
}

std::size_t fd::write_some(std::span<const_buffer const> from, std::error_code& error) {
  io_call call(desc_, poll_side_name::write, error);
  if (!call) return 0;
  parts all = gather(from);
  return at_least_0(
      call.perform(all.bytes, error, [&](int descriptor) { return write_parts(*call, descriptor, all); }));
}

std::size_t fd::write_all(const_buffer from, std::error_code& error) {
  io_call call(desc_, poll_side_name::write, error);
  std::size_t done = 0;
  while (call) {
    long const more = write_once(call, static_cast<char const*>(from.data()) + done, from.size() - done, error);
    done += at_least_0(more);
    if (more < 0 || done == from.size()) break;
  }
  return done;
}

std::size_t detail::write_now(fd& to, const_buffer from, std::error_code& error) noexcept {
  short_use const d(to.desc_, error);
  if (!d) return 0;
  long const result = try_to_write(*d, from.data(), from.size());
  if (result < 0 && result != -EAGAIN) error = system_error_of(static_cast<int>(-result));
  return at_least_0(result);
}

std::size_t fd::write_all(std::span<const_buffer const> from, std::error_code& error) {
  io_call call(desc_, poll_side_name::write, error);
  std::size_t done = 0;
  std::size_t skipped = 0;  // bytes of the first buffer that are written
  while (call && !from.empty()) {
    parts all;
    for (std::size_t i = 0; i < from.size() && !all.is_full(); ++i) {
      std::size_t const skip = i == 0 ? skipped : 0;
      all.add(static_cast<char*>(const_cast<void*>(from[i].data())) + skip, from[i].size() - skip);
    }
    if (all.bytes == 0) break;
    long const more =
        call.perform(all.bytes, error, [&](int descriptor) { return write_parts(*call, descriptor, all); });
    if (more < 0) break;
    done += static_cast<std::size_t>(more);
    skipped += static_cast<std::size_t>(more);
    while (!from.empty() && skipped >= from.front().size()) {
      skipped -= from.front().size();
      from = from.subspan(1);
    }
  }
  return done;
}

std::size_t fd::send_file(int file, std::int64_t offset, std::size_t bytes, std::error_code& error) {
  io_call call(desc_, poll_side_name::write, error);
  std::size_t done = 0;
  while (call && done < bytes) {
    // sendfile does not wait for the receiver here, but it may wait for the disk, so it is an announced call.
    long const more = call.perform(0, error, [&](int descriptor) {
      return blocking(
          [&] { return os::send_file(descriptor, file, offset, std::min(bytes - done, std::size_t{1} << 20U)); });
    });
    if (more <= 0) break;
    done += static_cast<std::size_t>(more);
  }
  return done;
}

namespace {

void wait_until(poll_desc* d, poll_side_name which, std::error_code& error) {
  io_call call(d, which, error);
  if (!call) return;
  call.forget_drained();
  static_cast<void>(call.perform(0, error, [=](int descriptor) -> long {
    bool const reads = which == poll_side_name::read;
    return os::would_block(descriptor, reads ? os::direction::read : os::direction::write) ? -EAGAIN : 0;
  }));
}

}  // namespace

void fd::wait_readable(std::error_code& error) { wait_until(desc_, poll_side_name::read, error); }
void fd::wait_writable(std::error_code& error) { wait_until(desc_, poll_side_name::write, error); }

void fd::set_deadlines(bool read, bool write, std::int64_t when_ns, std::error_code& error) noexcept {
  short_use const d(desc_, error);
  if (!d) return;
  std::int64_t const when = when_ns == detail::no_io_deadline ? no_poll_deadline : std::max<std::int64_t>(when_ns, 1);
  bool const done = (!read || set_poll_deadline(*d, poll_side_name::read, when)) &&
                    (!write || set_poll_deadline(*d, poll_side_name::write, when));
  if (!done) error = system_error_of(ENOMEM);
}

}  // namespace thrum
