// thrum::datagram_socket and thrum::udp_socket. One system call sends or receives up to 64 datagrams.
#include "net/address.h"
#include "net/connect.h"
#include "net/io_call.h"
#include "net/resolve.h"
#include "os/socket.h"
#include <thrum/udp.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>

namespace thrum {

using namespace rt;

namespace {

constexpr std::size_t batch_max = 64;

// An unconnected unix socket polls as writable even if the receiver's queue is full, so no event says when to try
// again. An EAGAIN of such a send is changed to this code, so that io_call::perform returns it instead of waiting.
// send_many then pauses.
constexpr int receiver_is_full = EXFULL;
constexpr std::chrono::microseconds pause_min(50);
constexpr std::chrono::microseconds pause_max(5'000);

struct message_batch {
  std::array<mmsghdr, batch_max> headers;
  std::array<iovec, batch_max> parts;

  void put(std::size_t i, void* data, std::size_t bytes, void* name, std::uint32_t name_bytes) noexcept {
    parts[i] = {data, bytes};
    headers[i] = {};
    msghdr& h = headers[i].msg_hdr;
    h.msg_iov = &parts[i];
    h.msg_iovlen = 1;
    h.msg_name = name;
    h.msg_namelen = name_bytes;
  }
};

}  // namespace

std::size_t datagram_socket::send_to(const_buffer data, endpoint const& to, std::error_code& error) {
  datagram_out const one{data, &to};
  return send_many({&one, 1}, error) == 1 ? data.size() : 0;
}

std::size_t datagram_socket::recv_from(mutable_buffer to, endpoint& from, std::error_code& error) {
  datagram_in one{.buffer = to};
  if (recv_many({&one, 1}, error) == 0) return 0;
  from = one.from;
  return one.size;
}

std::size_t datagram_socket::send_many(std::span<datagram_out const> all, std::error_code& error) {
  io_call call(desc_, poll_side_name::write, error);
  std::chrono::microseconds pause = pause_min;
  std::size_t sent = 0;
  while (call && sent < all.size()) {
    std::size_t const count = std::min(all.size() - sent, batch_max);
    message_batch batch;
    for (std::size_t i = 0; i < count; ++i) {
      datagram_out const& one = all[sent + i];
      bool const names = one.to != nullptr;
      batch.put(i, const_cast<void*>(one.data.data()), one.data.size(),
                names ? const_cast<void*>(one.to->data()) : nullptr, names ? one.to->size() : 0);
    }
    bool const cannot_wait = all[sent].to != nullptr && all[sent].to->is_unix();
    long const more = call.perform(0, error, [&](int descriptor) {
      long const result = os::send_many(descriptor, batch.headers.data(), static_cast<unsigned>(count));
      return cannot_wait && result == -EAGAIN ? -receiver_is_full : result;
    });
    if (more < 0 && error.value() == receiver_is_full) {
      error.clear();
      call.pause(pause);
      pause = std::min(pause * 2, pause_max);
      continue;
    }
    if (more < 0) break;
    pause = pause_min;
    sent += static_cast<std::size_t>(more);
  }
  return sent;
}

std::size_t datagram_socket::recv_many(std::span<datagram_in> to, std::error_code& error) {
  io_call call(desc_, poll_side_name::read, error);
  std::size_t const count = std::min(to.size(), batch_max);
  if (!call || count == 0) return 0;
  message_batch batch;
  for (std::size_t i = 0; i < count; ++i) {
    batch.put(i, to[i].buffer.data(), to[i].buffer.size(), to[i].from.data(), endpoint::capacity());
  }
  long const came = call.perform(0, error, [&](int descriptor) {
    return os::receive_many(descriptor, batch.headers.data(), static_cast<unsigned>(count));
  });
  for (long i = 0; i < came; ++i) {
    auto const at = static_cast<std::size_t>(i);
    to[at].size = batch.headers[at].msg_len;
    to[at].is_truncated = (batch.headers[at].msg_hdr.msg_flags & MSG_TRUNC) != 0;
    to[at].from.resize(batch.headers[at].msg_hdr.msg_namelen);
  }
  return came > 0 ? static_cast<std::size_t>(came) : 0;
}

udp_socket udp_socket::bind(std::string_view address, std::error_code& error) {
  udp_socket made;
  for (endpoint const& at : resolve_to_listen(address, error)) {
    made.desc_ = open_bound(SOCK_DGRAM, at, {}, error);
    if (made.desc_ != nullptr || !is_want_of_family(error)) break;
  }
  return made;
}

udp_socket udp_socket::connect(std::string_view address, std::chrono::nanoseconds timeout, std::error_code& error) {
  udp_socket made;
  for (endpoint const& to : resolve_to_dial(address, moment_after(timeout.count()), error)) {
    made.desc_ = open_connected(SOCK_DGRAM, to, never_poll, error);
    if (made.desc_ != nullptr) break;
  }
  return made;
}

}  // namespace thrum
